//! The public shapes, and one file per format.

pub mod columns;
pub mod jsonpath;
pub mod table;
