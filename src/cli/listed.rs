//! `--inventory`: the listings of providers, and what the user says of them.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, reading::standard_input_once};
use crate::{
    facts::{Inventory, InventoryWords},
    listings::{self, Disk, ListingError, ListingInput, NamedFile},
    model::{Text, escape_control},
};

/// What providers list.
#[derive(Debug, Args)]
pub(in crate::cli) struct InventoryArgs {
    /// Compare with the disks that a provider lists, in the answer of a command of its own: FILE, - or rbd:POOL=FILE
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    inventory: Vec<String>,
    /// Assert that every cluster which uses the accounts of --inventory is given
    #[arg(long, requires = "inventory")]
    all_clusters: bool,
    /// Set the identity that drivers write on the disks of a cluster: VALUE, or NAME=VALUE of several
    #[arg(long, value_name = "[NAME=]VALUE", requires = "inventory")]
    cluster_tag: Vec<String>,
}

/// What is to be told of listings that were read.
#[derive(Debug, Default)]
pub(in crate::cli) struct ReadListings {
    /// Notes for the user.
    pub(in crate::cli) notes: Vec<String>,
    /// Why a listing among several could not be read.
    pub(in crate::cli) unread: Vec<String>,
    /// The listings that are only the first page.
    pub(in crate::cli) cut: Vec<String>,
}

impl InventoryArgs {
    /// Whether anything is to be compared.
    pub(in crate::cli) fn is_asked_for(&self) -> bool {
        !self.inventory.is_empty()
    }

    /// Whether every cluster that uses the accounts is given.
    pub(in crate::cli) fn are_all(&self) -> bool {
        self.all_clusters
    }

    fn inputs(&self) -> Vec<ListingInput> {
        self.inventory.iter().map(|it| ListingInput::parse(it)).collect()
    }

    /// Returns the files of the listings, which are read beside these dumps.
    ///
    /// # Errors
    /// When standard input is named twice, or a file does not exist.
    pub(in crate::cli) fn files(&self, dumps: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let files: Vec<_> = self.inputs().into_iter().map(|it| it.file).collect();
        standard_input_once(&files, dumps)?;
        let paths: Vec<_> = files.iter().filter_map(NamedFile::path).map(PathBuf::from).collect();
        // Told before a cluster is read for minutes; of several, each is a gap.
        if let [path] = &*paths {
            std::fs::metadata(path).map_err(|error| {
                let told = format!("failed to read {}", path.display());
                Failure::error(anyhow::Error::new(error).context(told))
            })?;
        }
        Ok(paths)
    }

    /// Returns what the user says, of the clusters with these names.
    ///
    /// # Errors
    /// When a cluster is none of these, or is not named although there are several.
    pub(in crate::cli) fn words(&self, names: &[Text]) -> Result<InventoryWords, Failure> {
        let parse = |tag: &String| {
            if names.is_empty() {
                return Ok((0, Text::from(tag.as_str())));
            }
            let known = tag.split_once('=').and_then(|(name, value)| {
                Some((names.iter().position(|it| **it == *name)?, Text::from(value)))
            });
            known.filter(|it| !it.1.is_empty()).ok_or_else(|| {
                let told =
                    format!("--cluster-tag {}: no cluster is called that", escape_control(tag));
                Failure::usage(told)
                    .hint(Some("write NAME=VALUE with the name of a cluster".to_owned()))
            })
        };
        let identities = self.cluster_tag.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(InventoryWords { are_all: self.all_clusters, identities })
    }

    /// Reads the listings into a comparison, and shows each of their disks.
    ///
    /// # Errors
    /// When the only listing cannot be read.
    pub(in crate::cli) fn read(
        &self,
        inventory: &mut Inventory<'_>,
        show: &mut dyn FnMut(&Disk),
    ) -> Result<ReadListings, Failure> {
        let inputs = self.inputs();
        let mut found = ReadListings::default();
        for input in &inputs {
            let mut reading = inventory.begin();
            let read = listings::read(input, &mut |disk| {
                show(&disk);
                inventory.take(disk, &mut reading)
            });
            let added = read.and_then(|listing| {
                let why = inventory.add(&listing, reading).err();
                let name = listing.name.clone();
                why.map_or(Ok(listing), |why| Err(ListingError::Foreign { name, why }))
            });
            match added {
                Ok(listing) => {
                    if listing.rows == 0 {
                        let note =
                            format!("{} lists nothing, and nothing is judged by it", listing.name);
                        found.notes.push(note);
                    }
                    if listing.is_truncated {
                        found
                            .cut
                            .push(format!("{} is cut off: it names a next page", listing.name));
                    }
                }
                Err(error) if inputs.len() == 1 => {
                    let hint = "kubectl storage explain inventory prints the commands whose answers are read";
                    return Err(Failure::error(error).hint(Some(hint.to_owned())));
                }
                Err(error) => {
                    inventory.fail();
                    found.unread.push(format!("{:#}", anyhow::Error::new(error)));
                }
            }
        }
        Ok(found)
    }
}
