"""Changes the code in small ways and shows which of these changes no test notices."""
