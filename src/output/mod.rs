//! Output: the public shapes (`wire`), what fills them (`publish`, `writing`), and one file per format.

pub mod columns;
pub mod explanation;
pub mod format;
pub mod jsonpath;
pub mod list;
pub mod table;
pub mod report;
pub mod wire;
pub mod publish;
pub mod writing;
