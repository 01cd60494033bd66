package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"shiro/memory/transcript"
)

// Formats of an export.
const (
	Markdown = "md"    // for people
	JSONL    = "jsonl" // the record without its messages on the first line, then a message per line as stored
)

// Export writes a session in that format to path, or below the state directory
// when path is empty, and returns where. A file that is there is replaced.
func (s *Store) Export(session *transcript.Session, format, path string) (string, error) {
	var data []byte
	var err error
	switch format {
	case Markdown:
		data = markdown(session)
	case JSONL:
		data, err = jsonLines(session)
	default:
		err = fmt.Errorf("there is no export format %q; the formats are %s and %s", format, Markdown, JSONL)
	}
	if err != nil {
		return "", err
	}
	if path == "" {
		if !validID(session.ID) {
			return "", fmt.Errorf("%q is not a session id", session.ID)
		}
		path = filepath.Join(s.dir, "exports", session.ID+"."+format)
		if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
			return "", fmt.Errorf("exporting session %s: %w", session.ID, err)
		}
	} else if !filepath.IsAbs(path) {
		return "", errors.New("the path to export to is not absolute: " + path)
	}
	if _, err := replaceFile(path, data); err != nil {
		return "", fmt.Errorf("exporting session %s: %w", session.ID, err)
	}
	return path, nil
}

func jsonLines(session *transcript.Session) ([]byte, error) {
	bare := *session
	bare.Messages = nil
	var b bytes.Buffer
	head, err := bare.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b.Write(append(head, '\n'))
	for _, m := range session.Messages {
		line, err := m.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// markdown is a session as a page to read: what was said, with the tool calls
// and their results folded away.
func markdown(s *transcript.Session) []byte {
	var b bytes.Buffer
	title := s.Name
	if title == "" {
		title = transcript.MakeTitle(s.Messages)
	}
	fmt.Fprintf(&b, "# %s\n\n- Session: %s\n- Folder: %s\n- Model: %s\n- Begun: %s\n- Last change: %s\n- Tokens: %d in, %d out\n",
		oneLine(title), s.ID, oneLine(s.CWD), oneLine(s.Model), s.CreatedAt, s.UpdatedAt, s.InputTokens, s.OutputTokens)
	if s.CostUSD != nil {
		fmt.Fprintf(&b, "- Cost: $%.4f\n", *s.CostUSD)
	}
	results := make(map[string]transcript.Output)
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Type == transcript.TypeToolResult {
				results[p.ToolCallID] = p.Output
			}
		}
	}
	speaker := ""
	for _, m := range s.Messages {
		if m.Role == transcript.RoleTool {
			continue
		}
		if m.Role != speaker || m.Role == transcript.RoleUser {
			speaker = m.Role
			b.WriteString(map[string]string{transcript.RoleUser: "\n## User\n", transcript.RoleAssistant: "\n## Assistant\n"}[m.Role])
		}
		paragraph(&b, m.Text)
		for _, p := range m.Parts {
			switch p.Type {
			case transcript.TypeText:
				paragraph(&b, p.Text)
			case transcript.TypeReasoning:
				paragraph(&b, quote(p.Text))
			case transcript.TypeToolCall:
				out, done := results[p.ToolCallID]
				toolCall(&b, p, out, done)
			}
		}
	}
	if todos := transcript.Todos(s.Notebook); len(todos) > 0 {
		b.WriteString("\n## Tasks\n\n")
		for _, t := range todos {
			b.WriteString("- " + t.Line() + "\n")
		}
	}
	return b.Bytes()
}

func paragraph(b *bytes.Buffer, text string) {
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString("\n" + text + "\n")
	}
}

// quote is text as a block quotation.
func quote(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

func toolCall(b *bytes.Buffer, call transcript.Part, out transcript.Output, done bool) {
	input := string(call.Input)
	if printed, err := pretty(call.Input); err == nil {
		input = string(printed)
	}
	var command struct{ Command string }
	if json.Unmarshal(call.Input, &command) == nil && command.Command != "" {
		input = command.Command
	}
	result := "(no result)"
	if done {
		result = out.String()
		if out.Type == transcript.OutputDenied && result == "" {
			result = "(refused)"
		}
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%s\n\n%s\n\n</details>\n",
		strings.NewReplacer("<", "&lt;", "&", "&amp;").Replace(oneLine(call.ToolName)), fenced(input), fenced(result))
}

// fenced is text as a code block that nothing in it ends.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}
