//! The public shapes, and one file per format.
