"""Plans of making room."""
