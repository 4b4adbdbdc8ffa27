"""Call: a rendering goes out, wire events come back."""
