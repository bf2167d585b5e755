//! What a listing of a million disks costs beside the dumps of ten clusters: little more than its bare parse.
//!
//! `cargo bench --bench inventory`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Write as _},
    path::Path,
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use generate::{Mix, Population, Size, write_objects};
use measure::{Run, Runs, Verdict, end, mebibytes, run, say, seconds, tool};

/// How much longer than a bare parse the listing may take.
const LONGER: f64 = 1.5;
/// Bytes for each disk that is left over: unattached, made by Kubernetes, and named by nothing.
const OF_DISK: u64 = 1000;
/// How often each is run: the fastest counts, as others use the machine, too.
const ROUNDS: usize = 3;

/// Compares the disks of a provider with made-up clusters.
#[derive(Debug, Parser)]
struct Args {
    /// Clusters
    #[arg(long, default_value_t = 10)]
    clusters: usize,
    /// Volumes of each
    #[arg(long, default_value_t = 10_000)]
    volumes: usize,
    /// Disks of the listing
    #[arg(long, default_value_t = 1_000_000)]
    disks: usize,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("inventory", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let listing = folder.path().join("disks.json");
    let clusters = folder.path().join("clusters");
    std::fs::create_dir(&clusters)?;
    let mut rows = Listing { file: BufWriter::new(File::create(&listing)?), rows: 0, left: 0 };
    rows.file.write_all(b"{\"Volumes\": [\n")?;
    for seed in 0..args.clusters {
        let volumes = args.volumes;
        let size = Size { pods: volumes, volumes, claims: volumes, mix: Mix::Usual };
        let population = Population { seed: seed as u64, ..size.population() };
        write_objects(population.objects(), &clusters.join(format!("cluster-{seed}.ndjson")))?;
        for index in 0..volumes {
            let driver = population.driver(index);
            if driver.name == "ebs.csi.aws.com" {
                rows.named(&population.handle(index, driver))?;
            }
        }
    }
    while rows.rows < args.disks {
        rows.other()?;
    }
    rows.file.write_all(b"\n]}\n")?;
    rows.file.flush()?;
    let left = rows.left;
    drop(rows);

    let (mut bare, mut alone, mut both) = (Duration::MAX, Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare = bare.min(parse(&listing)?);
        alone.push(audit(&clusters, None)?);
        both.push(audit(&clusters, Some(&listing))?);
    }
    let (alone, both) = (Runs(alone), Runs(both));
    let read = both.fastest().saturating_sub(alone.fastest());
    let ratio = read.as_secs_f64() / bare.as_secs_f64();
    let mut verdict = Verdict::default();
    say(&format!(
        "{} of {} disks, {left} left over: dumps alone {}, with it {}",
        mebibytes(std::fs::metadata(&listing)?.len()),
        args.disks,
        seconds(alone.fastest()),
        seconds(both.fastest()),
    ));
    verdict.bound(
        &format!(
            "{} more, a bare parse {}: {ratio:.2} (at most {LONGER})",
            seconds(read),
            seconds(bare)
        ),
        ratio <= LONGER,
    );
    let bound = alone.peak() + OF_DISK * left;
    verdict.bound(
        &format!("memory {} of {}", mebibytes(both.peak()), mebibytes(bound)),
        both.peak() <= bound,
    );
    Ok(verdict.exit())
}

/// A listing of AWS that is being written.
struct Listing {
    file: BufWriter<File>,
    rows: usize,
    left: u64,
}

impl Listing {
    /// Writes a disk that a cluster names, attached to a machine.
    fn named(&mut self, handle: &str) -> io::Result<()> {
        let number = self.rows;
        self.row(handle, Some(number), &[])
    }

    /// Writes another disk: of machines, of people, of other clusters, or of none.
    fn other(&mut self) -> io::Result<()> {
        let number = self.rows;
        let handle = format!("vol-0ff{number:014x}");
        let uid = format!(
            "{:08x}-1111-4222-8333-{number:012x}",
            number.wrapping_mul(2_654_435_761) & 0xffff_ffff
        );
        let volume = format!("pvc-{uid}");
        let of_claim = |cluster: &str| {
            vec![
                ("CSIVolumeName".to_owned(), volume.clone()),
                ("ebs.csi.aws.com/cluster".to_owned(), "true".to_owned()),
                (format!("kubernetes.io/cluster/{cluster}"), "owned".to_owned()),
                ("kubernetes.io/created-for/pv/name".to_owned(), volume.clone()),
                ("kubernetes.io/created-for/pvc/name".to_owned(), format!("data-{number}")),
                ("kubernetes.io/created-for/pvc/namespace".to_owned(), "shop".to_owned()),
            ]
        };
        match number % 10 {
            0..=5 => self.row(&handle, Some(number), &of_claim("elsewhere")),
            6..=7 => {
                self.row(&handle, None, &[("Name".to_owned(), format!("disk of people {number}"))])
            }
            8 => {
                self.left += 1;
                self.row(&handle, None, &of_claim("elsewhere"))
            }
            _ => {
                self.left += 1;
                self.row(&handle, None, &of_claim("forgotten"))
            }
        }
    }

    fn row(
        &mut self,
        handle: &str,
        machine: Option<usize>,
        tags: &[(String, String)],
    ) -> io::Result<()> {
        let attachments = machine.map(|machine| {
            json!({
                "AttachTime": "2026-03-01T09:00:00+00:00", "Device": "/dev/xvdba",
                "InstanceId": format!("i-{machine:017x}"), "State": "attached", "VolumeId": handle,
                "DeleteOnTermination": false,
            })
        });
        let tags = tags.iter().map(|(key, value)| json!({"Key": key, "Value": value}));
        let row = json!({
            "Attachments": attachments.into_iter().collect::<Vec<_>>(),
            "AvailabilityZone": "us-east-1a", "CreateTime": "2026-02-01T08:30:00.123000+00:00",
            "Encrypted": true, "Iops": 3000, "MultiAttachEnabled": false, "Size": 20,
            "KmsKeyId": "arn:aws:kms:us-east-1:123456789012:key/0d990263-7d7e-4a1b-8a9b-6b9d2f1c3a5e",
            "SnapshotId": "", "State": if machine.is_some() { "in-use" } else { "available" },
            "Tags": tags.collect::<Vec<_>>(), "Throughput": 125, "VolumeId": handle, "VolumeType": "gp3",
        });
        if self.rows > 0 {
            self.file.write_all(b",\n")?;
        }
        self.rows += 1;
        serde_json::to_writer(&mut self.file, &row).map_err(io::Error::from)
    }
}

/// Reads each row of a listing into a value of its own, and does nothing with it.
fn parse(listing: &Path) -> io::Result<Duration> {
    struct Answer;
    impl<'de> Visitor<'de> for Answer {
        type Value = usize;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an answer")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<usize, A::Error> {
            let mut count = 0;
            while rows.next_element::<Value>()?.is_some() {
                count += 1;
            }
            Ok(count)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<usize, A::Error> {
            struct Rows;
            impl<'de> serde::de::DeserializeSeed<'de> for Rows {
                type Value = usize;

                fn deserialize<D: serde::Deserializer<'de>>(
                    self,
                    rows: D,
                ) -> Result<usize, D::Error> {
                    rows.deserialize_seq(Answer)
                }
            }
            members.next_key::<IgnoredAny>()?;
            members.next_value_seed(Rows)
        }
    }
    let began = Instant::now();
    let file = BufReader::with_capacity(256 << 10, File::open(listing)?);
    let rows = serde_json::Deserializer::from_reader(file).deserialize_map(Answer)?;
    match rows {
        0 => Err(io::Error::other("the listing has no rows")),
        _ => Ok(began.elapsed()),
    }
}

fn audit(clusters: &Path, listing: Option<&Path>) -> io::Result<Run> {
    let state = tempfile::tempdir()?;
    let mut command = tool(state.path());
    command.args(["audit", "-o", "json", "--complete", "all", "--each"]).arg(clusters);
    if let Some(listing) = listing {
        command.arg("--inventory").arg(listing);
    }
    let run = run(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    match run.status.code() {
        Some(0 | 4) => Ok(run),
        _ => Err(io::Error::other(format!("{command:?} ended with {}", run.status))),
    }
}
