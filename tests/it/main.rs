//! Tests that see the package from outside.

mod krew_manifest;
