// Stands for the two sample modules of this release that were never published.
module absent

go 1.23.0
