//! Findings of several clusters in little memory, in the order of a report.

use std::{
    collections::BTreeMap,
    io::{BufWriter, Read as _, Write as _},
    sync::{Arc, mpsc},
    thread,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use crate::{model::Severity, output::wire::Finding};

/// What a report is sorted by: the worst first, then by the rule.
pub(super) type Rank = (Option<Severity>, String);

/// Findings by rank, compressed: most say the same of another object.
#[derive(Debug, Default)]
pub(super) struct PackedFindings {
    blocks: BTreeMap<Rank, Arc<Vec<u8>>>,
    number: usize,
}

/// Writer of the findings of one rank. The encoder clears a buffer of its own at each write, and JSON is written in very
/// small ones.
type BlockWriter = BufWriter<ZlibEncoder<Vec<u8>>>;

impl PackedFindings {
    /// Packs findings, which keep their order within a rank.
    ///
    /// # Panics
    /// Never: memory takes what is written.
    pub(super) fn new(findings: impl IntoIterator<Item = Finding>) -> Self {
        let mut writers: BTreeMap<Rank, BlockWriter> = BTreeMap::new();
        let mut number = 0;
        for finding in findings {
            number += 1;
            let rank = (Severity::parse(&finding.severity), finding.id.clone());
            let writer = writers.entry(rank).or_insert_with(|| {
                BufWriter::new(ZlibEncoder::new(Vec::new(), Compression::new(2)))
            });
            serde_json::to_writer(&mut *writer, &finding)
                .expect("because text is written to memory");
            writer.write_all(b"\n").expect("because it is written to memory");
        }
        let block = |(rank, writer): (Rank, BlockWriter)| {
            let encoder = writer.into_inner().expect("because it is written to memory");
            let mut packed = encoder.finish().expect("because it is written to memory");
            packed.shrink_to_fit();
            (rank, Arc::new(packed))
        };
        Self { blocks: writers.into_iter().map(block).collect(), number }
    }

    /// Returns how many they are.
    pub(super) fn len(&self) -> usize {
        self.number
    }

    /// Returns the ranks that they have.
    pub(super) fn ranks(&self) -> impl Iterator<Item = &Rank> {
        self.blocks.keys()
    }

    /// Returns those of one rank.
    pub(super) fn of(&self, rank: &Rank) -> Vec<Finding> {
        self.blocks.get(rank).map(|it| unpack(it)).unwrap_or_default()
    }

    /// Replaces those of some rules by what comes of them.
    pub(super) fn change(
        &mut self,
        is_concerned: impl Fn(&str) -> bool,
        mut change: impl FnMut(&mut [Finding]),
    ) {
        let concerned = self.ranks().filter(|it| is_concerned(&it.1)).cloned();
        for rank in concerned.collect::<Vec<_>>() {
            let mut findings = self.of(&rank);
            change(&mut findings);
            self.number -= findings.len();
            self.blocks.remove(&rank);
            self.add(findings);
        }
    }

    /// Adds findings of ranks that are not there yet.
    pub(super) fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let Self { blocks, number } = Self::new(findings);
        self.blocks.extend(blocks);
        self.number += number;
    }
}

fn unpack(block: &[u8]) -> Vec<Finding> {
    let mut lines = Vec::new();
    ZlibDecoder::new(block).read_to_end(&mut lines).expect("because it was written here");
    let findings = serde_json::Deserializer::from_slice(&lines).into_iter();
    findings.map(|it| it.expect("because it was written here")).collect()
}

/// Returns the findings of several clusters by rank, and by cluster within each. While some are printed, the next are
/// unpacked.
pub(super) fn in_order<'a>(
    clusters: impl Iterator<Item = &'a PackedFindings>,
) -> impl Iterator<Item = Finding> {
    let mut by_rank: BTreeMap<&Rank, Vec<Arc<Vec<u8>>>> = BTreeMap::new();
    for cluster in clusters {
        for (rank, block) in &cluster.blocks {
            by_rank.entry(rank).or_default().push(Arc::clone(block));
        }
    }
    let blocks: Vec<_> = by_rank.into_values().flatten().collect();
    let (send, receive) = mpsc::sync_channel(0);
    thread::spawn(move || {
        blocks.into_iter().map(|it| unpack(&it)).try_for_each(|it| send.send(it))
    });
    receive.into_iter().flatten()
}
