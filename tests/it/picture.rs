//! The picture that README opens with: what really appears in a terminal of 80 columns.

use std::process::Command;

use anstyle::RgbColor;
use anstyle_svg::{Palette, Term};

use crate::support::{binary, expect_file, read, root};
use crate::terminal::Terminal;

/// What is typed, as a user would who has installed the plugin.
const TYPED: &str = "kubectl storage audit -f examples/leaky-cluster.json.gz";
/// Lines of the screen that the picture shows before it says that there are more.
const SHOWN: usize = 24;

/// A picture of a terminal.
struct Look {
    file: &'static str,
    text: RgbColor,
    background: RgbColor,
    /// Black, red, green, yellow, blue, magenta, cyan and white; the bright ones are the same.
    colours: [RgbColor; 8],
}

const fn rgb(hex: u32) -> RgbColor {
    let [_, red, green, blue] = hex.to_be_bytes();
    RgbColor(red, green, blue)
}

/// Each colour has a contrast of 4.5 or more with its background.
const LOOKS: [Look; 2] = [
    Look {
        file: "docs/screen-light.svg",
        text: rgb(0x1f_23_28),
        background: rgb(0xf6_f8_fa),
        colours: [
            rgb(0x24_29_2f),
            rgb(0xcf_22_2e),
            rgb(0x11_63_29),
            rgb(0x7d_4e_00),
            rgb(0x09_69_da),
            rgb(0x82_50_df),
            rgb(0x1b_6f_76),
            rgb(0x57_60_6a),
        ],
    },
    Look {
        file: "docs/screen-dark.svg",
        text: rgb(0xe6_ed_f3),
        background: rgb(0x0d_11_17),
        colours: [
            rgb(0x8b_94_9e),
            rgb(0xff_7b_72),
            rgb(0x3f_b9_50),
            rgb(0xd2_99_22),
            rgb(0x58_a6_ff),
            rgb(0xbc_8c_ff),
            rgb(0x39_c5_cf),
            rgb(0xe6_ed_f3),
        ],
    },
];

/// Runs the audit of the shipped dump as a user would, and returns what appears, in colour.
fn screen() -> String {
    let mut command = Command::new(binary());
    command.args(TYPED.split(' ').skip(2)).current_dir(root());
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    let (screen, code) = Terminal::sized(command, 80).finish();
    assert_eq!(code, Some(0), "{screen}");
    screen.replace('\r', "")
}

/// The top of a screen, whole entries of it, and everything from the summary on.
fn shown(screen: &str) -> String {
    let lines: Vec<_> = screen.lines().collect();
    let plain = anstream::adapter::strip_str(screen).to_string();
    let plain: Vec<_> = plain.lines().collect();
    for line in &plain {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    let counts = |line: &&str| line.starts_with(char::is_numeric) && line.contains(" critical");
    let summary = plain.iter().rposition(counts).expect("a summary");
    // Not in the middle of a finding: those begin at the margin.
    let begins = |index: &usize| !plain[*index].starts_with(' ');
    let cut = (SHOWN..summary).find(begins).unwrap_or(summary);
    let top = lines[..cut].join("\n");
    format!("$ {TYPED}\n{top}\n…\n{}\n", lines[summary..].join("\n"))
}

#[test]
fn the_picture_is_what_appears() {
    let shown = shown(&screen());
    assert!(shown.contains("\u{1b}["), "without colours: {shown}");
    let readme = read(&root().join("README.md"));
    for Look { file, text, background, colours } in LOOKS {
        assert!(readme.contains(file), "README.md does not show {file}");
        let palette: [_; 16] = std::array::from_fn(|index| colours[index % colours.len()]);
        let term = Term::new().palette(Palette(palette)).min_width_px(0);
        let term = term.fg_color(text.into()).bg_color(background.into());
        expect_file(&root().join(file), &term.render_svg(&shown));
    }
}
