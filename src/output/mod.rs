//! The public shapes, and one file per format.

mod about;
pub mod columns;
pub mod explanation;
pub mod format;
pub mod jsonpath;
pub mod list;
pub mod table;
pub mod report;
pub mod wire;
pub mod writing;
