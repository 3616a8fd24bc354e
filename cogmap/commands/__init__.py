"""One module a command: `run(settings)`. Imported only when the command runs."""
