"""Where values are kept: implementations of the store ports."""
