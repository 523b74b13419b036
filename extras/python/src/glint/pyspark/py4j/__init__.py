"""py4j, as far as programs of RDDs see it; glint.submit gives it this name."""
