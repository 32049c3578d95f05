//! weather-station
