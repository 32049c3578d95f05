//! An MCP server that evaluates arithmetic: `2 + 3 * 4`, `sin(30)` in degrees or radians,
//! `sqrt(16)`. Bad input is a failure of the tool that says where it is.

use exmex::{Express, FlatEx, FloatOpsFactory, MakeOperators, Operator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::{Args, BuildError, Builder, Json, Server, Tool, ToolError};

/// How angles are written.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Angle {
    /// A full circle is 360.
    Degrees,
    /// A full circle is 2π.
    #[default]
    Radians,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Expression {
    /// Arithmetic with + - * / ^, parentheses, PI, E, and functions such as sin, sqrt, ln, abs.
    expression: String,
    /// Whether angles are degrees or radians (the default).
    #[serde(default)]
    angle: Angle,
}

/// What an expression amounts to.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// The value.
    pub result: f64,
}

/// The MCP server.
///
/// # Errors
/// When the server's definition is faulty, naming every fault.
pub fn server() -> Result<Server, BuildError> {
    builder().build(())
}

/// What the server is made of, for whoever wants it in another way.
pub fn builder() -> Builder<()> {
    Server::builder("calculator", env!("CARGO_PKG_VERSION")).tool(
        Tool::new("calculator_arithmetic", arithmetic)
            .describe("Calculates the value of an arithmetic expression such as 2 + 3 * 4 or sqrt(16)")
            .read_only(),
    )
}

async fn arithmetic(Args(asked): Args<Expression>) -> Result<Json<Value>, ToolError> {
    let result = match asked.angle {
        Angle::Radians => evaluate::<FloatOpsFactory<f64>>(&asked.expression),
        Angle::Degrees => evaluate::<Degrees>(&asked.expression),
    };
    result.map(|result| Json(Value { result })).map_err(ToolError::say)
}

/// The longest expression that is read, in bytes.
const MAX_LENGTH: usize = 1000;

/// The usual operators, with angles in degrees.
#[derive(Clone, Debug)]
struct Degrees;

impl MakeOperators<f64> for Degrees {
    fn make<'a>() -> Vec<Operator<'a, f64>> {
        let mut operators = FloatOpsFactory::<f64>::make();
        type Function = fn(f64) -> f64;
        let in_degrees: [(&str, Function); 6] = [
            ("sin", |angle| settle(angle.to_radians().sin())),
            ("cos", |angle| settle(angle.to_radians().cos())),
            ("tan", |angle| settle(angle.to_radians().tan())),
            ("asin", |ratio| ratio.asin().to_degrees()),
            ("acos", |ratio| ratio.acos().to_degrees()),
            ("atan", |ratio| ratio.atan().to_degrees()),
        ];
        operators.retain(|operator| !in_degrees.iter().any(|(name, _)| *name == operator.repr()));
        operators.extend(in_degrees.map(|(name, function)| Operator::make_unary(name, function)));
        operators
    }
}

/// π has no exact value, but the sine of 180° has one.
fn settle(value: f64) -> f64 {
    if value.abs() < 1e-15 { 0.0 } else { value }
}

fn evaluate<Operators: MakeOperators<f64>>(text: &str) -> Result<f64, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("the expression is longer than {MAX_LENGTH} bytes; split it"));
    }
    let parse = |text: &str| FlatEx::<f64, Operators>::parse(text).map_err(|error| error.to_string());
    let parsed = parse(text).map_err(|reason| {
        // The library's error has no position: what follows the longest readable part is at fault.
        let readable = |end: &usize| parse(&text[..*end]).is_ok();
        let end = text.char_indices().map(|(index, _)| index).rev().find(readable).unwrap_or(0);
        place(text, end, &reason)
    })?;
    if let Some(name) = parsed.var_names().first() {
        return Err(place(
            text,
            text.find(name.as_str()).unwrap_or(0),
            &format!("{name} is no number and no function"),
        ));
    }
    let value = parsed.eval(&[]).map_err(|error| error.to_string())?;
    if !value.is_finite() {
        return Err(format!("{text} is not a finite number"));
    }
    // Rounding errors of the last digit are nobody's result: 0.1 + 0.2 is 0.3.
    Ok(format!("{value:.14e}").parse().unwrap_or(value))
}

fn place(text: &str, index: usize, reason: &str) -> String {
    let position = text[..index].chars().count() + 1;
    format!("cannot read the expression at position {position} ({:?}): {reason}", &text[index..])
}
