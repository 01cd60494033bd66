package protocol

// HistoryListParams asks for the prompts that were given in a folder, here or in
// the terminal tool.
type HistoryListParams struct {
	Cwd string `json:"cwd" jsonschema:"absolute path of the folder"`
}

// HistoryListResult is what an input box offers to go back to.
type HistoryListResult struct {
	Prompts []string `json:"prompts" jsonschema:"oldest first, at most 200"`
}

// HistoryAppendParams adds a prompt. The prompts of shiro/turn/start are added
// by the server.
type HistoryAppendParams struct {
	Cwd    string `json:"cwd" jsonschema:"absolute path of the folder"`
	Prompt string `json:"prompt" jsonschema:"is trimmed; not added when blank or the last one again"`
}
