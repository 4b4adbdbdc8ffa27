"""Memory: the files a persona keeps about itself."""
