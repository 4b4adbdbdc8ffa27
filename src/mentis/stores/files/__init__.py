"""Files of a home: layout, atomic writes."""
