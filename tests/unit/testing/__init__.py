"""The shipped contracts, tested as anybody would use them."""
