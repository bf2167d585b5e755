//! Public shapes of what wasted disks cost a month.

use serde::{Deserialize, Serialize};

use crate::model::{Bytes, escape_control, first_of, format_bytes};

/// What wasted disks cost a month, by the prices of the user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Money {
    /// The currency, if it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// What is wasted, by the kind of waste.
    pub monthly: Vec<MoneyRow>,
    /// Prices that nothing wasted has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_prices: Vec<String>,
}

/// What one kind of waste costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoneyRow {
    /// `released`, `orphaned` or `unattributed`.
    pub what: String,
    /// The cost, rounded to hundredths.
    pub cost: f64,
    /// Bytes without a price.
    pub unpriced_bytes: Bytes,
}

impl MoneyRow {
    /// Makes the row of a cost in hundredths.
    #[expect(clippy::cast_precision_loss, reason = "no bill has sixteen digits")]
    pub(crate) fn new(what: &str, hundredths: u64, unpriced_bytes: Bytes) -> Self {
        Self { what: what.to_owned(), cost: hundredths as f64 / 100.0, unpriced_bytes }
    }
}

impl Money {
    /// Says what is wasted a month.
    pub fn told(&self) -> Vec<String> {
        let currency = self.currency.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        let row = |it: &MoneyRow| {
            let unpriced = match it.unpriced_bytes {
                0 => String::new(),
                bytes => format!(" (and {} without a price)", format_bytes(bytes)),
            };
            format!("{} {:.2}{currency}{unpriced}", it.what, it.cost)
        };
        let is_something = |it: &&MoneyRow| it.cost > 0.0 || it.unpriced_bytes > 0;
        let rows: Vec<_> = self.monthly.iter().filter(is_something).map(row).collect();
        let told = match rows.is_empty() {
            true => "a month: nothing is wasted".to_owned(),
            false => format!("a month: {}", rows.join(", ")),
        };
        let unused = (!self.unused_prices.is_empty()).then(|| {
            let names = first_of(&self.unused_prices, 4);
            format!("note: nothing that is wasted has the price of {names}")
        });
        let lines = [told].into_iter().chain(unused);
        lines.map(|it| escape_control(&it).into_owned()).collect()
    }
}
