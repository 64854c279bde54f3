"""Studies: runnable measurements of how good the forecasts and engines are."""
