package session

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

func (s *Session) has(name string) bool { return slices.Contains(s.names, name) }

// unknown names the function that is not there and the nearest one that is (R17).
func (s *Session) unknown(name string) string {
	name = shortened(name)
	if near := nearest(name, s.names); near != "" {
		return fmt.Sprintf("no function %q; did you mean %q?", name, near)
	}
	return fmt.Sprintf("no function %q", name)
}

// longestRepeated is how many characters of an unknown name a message repeats.
const longestRepeated = 200

func shortened(name string) string {
	characters := 0
	for at := range name {
		if characters == longestRepeated {
			return name[:at] + "…"
		}
		characters++
	}
	return name
}

// nearest is the name that is nearest to one, if it is near enough to be meant.
func nearest(wanted string, known []string) string {
	found, least := "", 1+utf8.RuneCountInString(wanted)/3
	for _, name := range known {
		if steps := distance([]rune(wanted), []rune(name)); steps < least || steps == least && found == "" {
			found, least = name, steps
		}
	}
	return found
}

// distance is how many characters to insert, remove or replace.
func distance(left, right []rune) int {
	row := make([]int, len(right)+1)
	for column := range row {
		row[column] = column
	}
	for line, mine := range left {
		diagonal := row[0]
		row[0] = line + 1
		for column, theirs := range right {
			replaced := diagonal
			if mine != theirs {
				replaced++
			}
			diagonal = row[column+1]
			row[column+1] = min(replaced, diagonal+1, row[column]+1)
		}
	}
	return row[len(right)]
}
