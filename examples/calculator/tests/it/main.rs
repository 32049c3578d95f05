//! The calculator as a client sees it, over stdio.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

use serde_json::{Value, json};
use switchboard_client::{CallError, Client};

async fn client() -> Client {
    Client::builder().command(env!("CARGO_BIN_EXE_calculator"), [""; 0]).await.unwrap()
}

async fn evaluate(client: &Client, arguments: Value) -> Result<f64, String> {
    match client.call_as::<Value>("calculator_arithmetic", &arguments).await {
        Ok(value) => Ok(value["result"].as_f64().unwrap()),
        Err(CallError::Tool(failure)) => Err(failure.text()),
        Err(CallError::Failed(error)) => panic!("{error}"),
    }
}

#[tokio::test]
async fn expressions_have_their_values() {
    let client = client().await;
    for (expression, radians, degrees) in [
        ("2 + 3 * 4", 14.0, 14.0),
        ("sqrt(16)", 4.0, 4.0),
        ("(12 + 8) / 5", 4.0, 4.0),
        ("2^10", 1024.0, 1024.0),
        ("-3 - -4", 1.0, 1.0),
        ("0.1 + 0.2", 0.3, 0.3),
        ("1 / 10^15", 1e-15, 1e-15),
        ("sin(PI/2)", 1.0, 0.027_412_133_592_044_3),
        ("sin(30)", -0.988_031_624_092_862, 0.5),
        ("sin(180)", -0.801_152_635_733_83, 0.0),
    ] {
        let found = evaluate(&client, json!({ "expression": expression })).await;
        assert_eq!(found, Ok(radians), "{expression}");
        let found = evaluate(&client, json!({ "expression": expression, "angle": "degrees" })).await;
        assert_eq!(found, Ok(degrees), "{expression} in degrees");
    }
    client.close().await;
}

#[tokio::test]
async fn bad_input_is_a_failure_of_the_tool_that_says_where() {
    let client = client().await;
    let nested = "(".repeat(900);
    for (expression, part) in [
        ("2 + * 3", "position 3"),
        ("2 +", "position 3"),
        ("(1 + 2", "position 1"),
        ("1 + 2)", "position 6"),
        ("apples + 1", "position 1"),
        ("1/0", "finite"),
        ("", "position 1"),
        ("2 $ 3", "position 3"),
        ("é", "position 1"),
        (nested.as_str(), "position"),
    ] {
        let reason = evaluate(&client, json!({ "expression": expression })).await.unwrap_err();
        assert!(reason.contains(part), "{expression}: {reason}");
    }
    let long = json!({ "expression": "1+".repeat(1000) });
    assert!(evaluate(&client, long).await.unwrap_err().contains("longer than 1000 bytes"));
    let reason = evaluate(&client, json!({ "expression": "1", "angle": "furlongs" })).await.unwrap_err();
    assert!(reason.contains("degrees") && reason.contains("radians"), "{reason}");
    client.close().await;
}
