"""The steps of the pipeline as commands: files and parameters meet the science only here."""
