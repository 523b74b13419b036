#[path = "../glint_filters.rs"]
#[allow(dead_code)]
mod glint_filters;
use glint_filters::Value;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let lines = std::fs::read_to_string(&args[2]).unwrap();
    let byte = |hex: &str, at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let ids: Vec<Vec<u8>> =
        lines.lines().map(|line| (0..line.len()).step_by(2).map(|at| byte(line, at)).collect()).collect();
    let Some(filters) = glint_filters::read(&std::fs::read(&args[1]).unwrap()) else {
        println!("error");
        return;
    };
    for (key, filter) in filters {
        let name = match key {
            Value::Int(number) => number.to_string(),
            Value::Text(text) => text,
            _ => "-".to_string(),
        };
        let hits: String = ids.iter().map(|id| if filter.contains(id) { '1' } else { '0' }).collect();
        println!("{}\t{}\t{}", name, hits, filter.id_type);
    }
}
