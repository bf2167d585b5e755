//! Incidents: something real is broken, and an expert reads no more than `audit` and one `explain`.

mod screen;
