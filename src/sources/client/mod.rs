//! The road to the API server: connecting as kubectl does, reading with patience, decoding lists as they arrive.

pub mod stream;

#[cfg(test)]
mod tests;
