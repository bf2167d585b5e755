//! The public shapes, and one file per format.

pub mod jsonpath;
pub mod table;
