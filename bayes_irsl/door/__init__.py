"""The data door: tables of responses are read and checked here, before anything is fitted."""
