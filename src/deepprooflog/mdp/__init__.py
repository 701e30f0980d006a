"""SLD resolution as a Markov decision process: goals are states, resolution steps are actions."""
