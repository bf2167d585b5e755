//! `--price`: what disks cost that nothing needs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{
    cli::Failure,
    model::{Bytes, Text, escape_control},
    output::money::{Money, MoneyRow},
};

/// Parts of a unit of money in which prices are kept.
const PARTS: u64 = 1_000_000;
/// The most digits after the point of a price.
const DIGITS: usize = 6;

/// What disks cost.
#[derive(Debug, Args)]
pub(in crate::cli) struct PriceArgs {
    /// Set what a GiB costs a month, by storage class, type at the provider or driver: gp3=0.08, or a CSV file with the
    /// columns name,price; can be repeated
    #[arg(long, value_name = "NAME=PRICE")]
    price: Vec<String>,
    /// Name the currency of --price
    #[arg(long, value_name = "CURRENCY", requires = "price")]
    currency: Option<String>,
}

/// Prices of a GiB a month, in millionths of a unit of money.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Prices {
    by_name: BTreeMap<String, u64>,
    currency: Option<String>,
}

/// Bytes, with the names that their price can have: the class or the provider's type, and the driver.
pub(in crate::cli) type PricedBytes = ([Option<Text>; 2], Bytes);

impl PriceArgs {
    /// Returns the files that may hold prices.
    pub(in crate::cli) fn files(&self) -> Vec<PathBuf> {
        self.price.iter().filter(|it| !it.contains('=')).map(PathBuf::from).collect()
    }

    /// Reads the prices; `None` if there are none.
    ///
    /// # Errors
    /// When a price is no number, negative, or given twice, or a file cannot be read.
    pub(in crate::cli) fn read(&self) -> Result<Option<Prices>, Failure> {
        if self.price.is_empty() {
            return Ok(None);
        }
        let mut prices = Prices { currency: self.currency.clone(), ..Prices::default() };
        for given in &self.price {
            match given.rsplit_once('=') {
                Some((name, price)) => prices.add(name, price)?,
                None => prices.add_file(Path::new(given))?,
            }
        }
        Ok(Some(prices))
    }
}

impl Prices {
    fn add(&mut self, name: &str, price: &str) -> Result<(), Failure> {
        let (told, shown) = (escape_control(name), escape_control(price));
        if name.is_empty() {
            return Err(Failure::usage(format!("--price ={shown}: the name is missing")));
        }
        let parsed = millionths(price).ok_or_else(|| {
            let told = format!("--price {told}={shown}: no price of a GiB a month");
            Failure::usage(told).hint(Some("write a number such as 0.08".to_owned()))
        })?;
        match self.by_name.insert(name.to_owned(), parsed) {
            None => Ok(()),
            Some(_) => Err(Failure::usage(format!("--price {told} is given twice"))),
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Failure> {
        let name = escape_control(&path.display().to_string()).into_owned();
        let text = fs::read_to_string(path).map_err(|error| {
            let hint = "write NAME=PRICE, or the name of a CSV file with the columns name,price";
            Failure::usage(format!("--price {name}: {error}")).hint(Some(hint))
        })?;
        let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let broken = |error: &csv::Error| Failure::usage(format!("{name}: {error}"));
        let headers = rows.headers().map_err(|it| broken(&it))?.clone();
        let column = |wanted: &str| {
            let at = headers.iter().position(|it| it == wanted);
            at.ok_or_else(|| Failure::usage(format!("{name} has no column {wanted:?}")))
        };
        let (of_name, of_price) = (column("name")?, column("price")?);
        for row in rows.records() {
            let row = row.map_err(|it| broken(&it))?;
            let cell = |at: usize| row.get(at).unwrap_or_default();
            self.add(cell(of_name), cell(of_price))?;
        }
        Ok(())
    }

    /// Adds up what is wasted: for each of these kinds of waste, in words, the bytes by their names.
    pub(in crate::cli) fn money(&self, wasted: &[(&str, Vec<PricedBytes>)]) -> Money {
        let mut used = Vec::new();
        let rows = wasted.iter().map(|(what, priced)| {
            let (mut cost, mut unpriced): (u128, Bytes) = (0, 0);
            for (names, bytes) in priced {
                let found = names.iter().flatten().find_map(|it| self.by_name.get_key_value(&**it));
                match found {
                    Some((name, price)) => {
                        used.push(name.clone());
                        cost += u128::from(*bytes) * u128::from(*price);
                    }
                    None => unpriced = unpriced.saturating_add(*bytes),
                }
            }
            let cents = (cost * 100 / u128::from(PARTS) + (1 << 29)) >> 30;
            MoneyRow::new(what, u64::try_from(cents).unwrap_or(u64::MAX), unpriced)
        });
        let rows = rows.collect();
        let unused = self.by_name.keys().filter(|it| !used.contains(it)).cloned().collect();
        Money { currency: self.currency.clone(), monthly: rows, unused_prices: unused }
    }
}

/// Reads a decimal number; `None` if it is none, is negative, or has too many digits.
fn millionths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    let is_whole = !whole.is_empty() || !fraction.is_empty();
    if !is_whole || !is_number(whole) || !is_number(fraction) || fraction.len() > DIGITS {
        return None;
    }
    format!("{whole}{fraction:0<DIGITS$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::millionths;

    #[test]
    fn a_price_is_a_decimal_number() {
        for (text, price) in [
            ("0.08", Some(80_000)),
            ("1", Some(1_000_000)),
            (".5", Some(500_000)),
            ("2.", Some(2_000_000)),
            ("0.0000001", None),
            ("-1", None),
            ("1e3", None),
            ("", None),
            (".", None),
            ("0,08", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(millionths(text), price, "{text}");
        }
    }
}
