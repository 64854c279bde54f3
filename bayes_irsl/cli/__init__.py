"""The command line: words become values here, and nothing else happens here."""
