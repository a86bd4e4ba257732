"""What a load cycle costs, measured: `make bench`. See bench/README.md."""
