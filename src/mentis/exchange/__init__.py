"""Exchange: foreign formats, to and from values."""
