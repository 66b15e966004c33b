//! One run of a command or several: how long, how much of the processors, how much memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

use crate::failure::Failure;

use super::statistics::Sample;

/// Where the time of a run is taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Clock {
    /// From the start of the first process to the end of the last.
    #[default]
    Processes,
    /// The median of the numbers of nanoseconds that the last process prints, the first left out: its files were new.
    Printed,
}

/// Runs the commands one after the other. Their stderr goes to `log`, from which a failure shows the end.
pub(crate) fn run(commands: &mut [Command], clock: Clock, log: &Path) -> Result<Sample, Failure> {
    forget_peak();
    let mut sample = Sample::default();
    let mut printed = String::new();
    for command in commands {
        let (part, text) = run_one(command, clock, log)?;
        sample.wall += part.wall;
        sample.cpu += part.cpu;
        sample.peak_bytes = sample.peak_bytes.max(part.peak_bytes);
        printed = text;
    }
    if clock == Clock::Printed {
        sample.wall = median_of_printed(&printed)?;
    }
    Ok(sample)
}

fn run_one(command: &mut Command, clock: Clock, log: &Path) -> Result<(Sample, String), Failure> {
    let stderr = fs::File::create(log).map_err(|err| Failure::at("create", log, err))?;
    let stdout = if clock == Clock::Printed { Stdio::piped() } else { Stdio::null() };
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|err| Failure::new(format!("cannot run {command:?}")).because(err))?;
    let mut printed = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        std::io::Read::read_to_string(&mut stdout, &mut printed)
            .map_err(|err| Failure::new(format!("cannot read what {command:?} prints")).because(err))?;
    }
    let ended = child.wait4().map_err(|err| Failure::new(format!("cannot wait for {command:?}")).because(err))?;
    let wall = start.elapsed();
    if !ended.status.success() {
        let said = fs::read_to_string(log).unwrap_or_default();
        return Err(Failure::new(format!("{command:?} ended with {}", ended.status)).because(said.trim_end()));
    }
    let used = ended.rusage;
    Ok((Sample { wall, cpu: used.utime + used.stime, peak_bytes: used.maxrss }, printed))
}

/// A process begins with the peak of the one that started it (`exec_mmap` in the kernel), which is ours: what we needed
/// to make a tree must not count for others. Where the file is not there the figures are only less sharp.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn median_of_printed(text: &str) -> Result<Duration, Failure> {
    let numbers: Result<Vec<u64>, _> = text.lines().skip(1).map(str::parse).collect();
    let mut numbers = numbers.map_err(|err| Failure::new("what was printed is no list of times").because(err))?;
    numbers.sort_unstable();
    let median = numbers.get(numbers.len() / 2).ok_or_else(|| Failure::new("no time was printed"))?;
    Ok(Duration::from_nanos(*median))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn times_add_up_and_failures_say_why() {
        let temp = tempfile::tempdir().unwrap();
        let log = temp.path().join("log");
        let sample = run(&mut [shell("sleep 0.02"), shell("sleep 0.02")], Clock::Processes, &log).unwrap();
        assert!(sample.wall >= Duration::from_millis(40) && sample.peak_bytes > 0, "{sample:?}");
        let failure = run(&mut [shell("echo no >&2; exit 3")], Clock::Processes, &log).unwrap_err();
        assert!(failure.to_string().contains("caused by: no"), "{failure}");
    }

    #[test]
    fn printed_times_count_where_asked() {
        let temp = tempfile::tempdir().unwrap();
        let mut commands = [shell("echo 9000; echo 30; echo 10; echo 20")];
        let sample = run(&mut commands, Clock::Printed, &temp.path().join("log")).unwrap();
        assert_eq!(sample.wall, Duration::from_nanos(20));
    }
}
