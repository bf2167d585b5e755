//! Tests that see the package from outside, without a cluster.

mod krew_manifest;
mod readme;
mod rules;
