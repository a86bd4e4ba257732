"""Other tools on the batch they can load, in an environment of their own."""
