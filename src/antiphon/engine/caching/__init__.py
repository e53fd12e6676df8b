"""The response cache: what a model answered is given again to who asks the same."""
