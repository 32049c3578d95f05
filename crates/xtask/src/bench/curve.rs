//! Resident memory over a row of abandoned work, and whether it is flat.

use std::fmt::Write as _;

/// How far the end may be above the beginning.
const MARGIN: f64 = 0.05;

/// What the server holds at one moment, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) rss: f64,
    pub(crate) pss: f64,
}

/// The memory of one server under one kind of abandoned work. The first point is after the warm-up.
#[derive(Debug)]
pub(crate) struct Curve {
    name: &'static str,
    points: Vec<(usize, Memory)>,
}

type Measure = (&'static str, fn(&Memory) -> f64);

const MEASURES: [Measure; 2] = [("RSS", |memory| memory.rss), ("PSS", |memory| memory.pss)];

impl Curve {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, points: Vec::new() }
    }

    /// Adds what the server held when so much was abandoned.
    pub(crate) fn add(&mut self, count: usize, memory: Memory) {
        eprintln!("{}: {count:>7} RSS {} PSS {}", self.name, megabytes(memory.rss), megabytes(memory.pss));
        self.points.push((count, memory));
    }

    /// The last fifth by the first point.
    fn growth(&self, of: fn(&Memory) -> f64) -> f64 {
        let (Some((_, first)), Some((end, _))) = (self.points.first(), self.points.last()) else {
            return f64::NAN;
        };
        // The median, as a buffer for a large body comes and goes.
        let late = self.points.iter().filter(|(count, _)| count * 5 > end * 4);
        let mut late: Vec<f64> = late.map(|(_, memory)| of(memory)).collect();
        late.sort_by(f64::total_cmp);
        late.get(late.len() / 2).copied().unwrap_or(f64::NAN) / of(first)
    }

    /// Whether it is not flat, or not there.
    pub(crate) fn is_missed(&self) -> bool {
        !MEASURES.iter().all(|(_, of)| self.growth(*of) <= 1.0 + MARGIN)
    }

    /// Two rows of the table: every fifth of the curve.
    pub(crate) fn markdown(&self) -> String {
        let mut rows = String::new();
        for (measure, of) in MEASURES {
            let _ = write!(rows, "| {} | {measure} |", self.name);
            let end = self.points.last().map_or(0, |(count, _)| *count);
            for (_, memory) in self.points.iter().filter(|(count, _)| count * 5 % end.max(1) == 0) {
                let _ = write!(rows, " {} |", megabytes(of(memory)));
            }
            let growth = self.growth(of);
            let verdict = if growth <= 1.0 + MARGIN { "met" } else { "**missed**" };
            let _ = writeln!(rows, " {:+.1} % | {verdict} |", (growth - 1.0) * 100.0);
        }
        rows
    }
}

/// What stands above the rows.
pub(crate) const HEAD: &str = "\
MiB of the server process alone (`/proc/PID/smaps_rollup`), with the default limits except these: a handler
and a question may take 1 s, and in all rows but \"that make room\", a session is idle for 1 s and what a stream
said is kept for 1 s. At most 32 clients at a time, 512 pipes. Before the first figure, work of the same kind was
abandoned until all bounded tables were full and the heap had been through the worst (80 000 to 250 000 times; on
one pipe 20 000).
Flat means that the median of the last fifth is at most 5 % above the first figure.

| abandoned | | after warm-up | 20 000 | 40 000 | 60 000 | 80 000 | 100 000 | last fifth | target |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::{Curve, Memory};

    fn check(points: impl IntoIterator<Item = f64>, missed: bool, row: &str) {
        let mut curve = Curve::new("work");
        for (index, megabytes) in points.into_iter().enumerate() {
            let bytes = megabytes * f64::from(1 << 20);
            curve.add(index * 10, Memory { rss: bytes, pss: bytes });
        }
        assert_eq!(curve.is_missed(), missed, "{row}");
        assert_eq!(curve.markdown().lines().next().unwrap_or_default(), row);
    }

    #[test]
    fn a_curve_is_flat_if_its_last_fifth_is_where_it_began() {
        let row = "| work | RSS | 100.0 | 120.0 | 90.0 | 90.0 | 90.0 | 105.0 | +5.0 % | met |";
        check([100.0, 100.0, 120.0, 90.0, 90.0, 90.0, 90.0, 90.0, 90.0, 105.0, 105.0], false, row);
        let row = "| work | RSS | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 | 112.0 | +12.0 % | **missed** |";
        check([100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 112.0], true, row);
    }
}
