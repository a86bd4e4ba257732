"""From a delivery to the stamped staged rows of a batch: readers, typing, staged rows, stamping."""
