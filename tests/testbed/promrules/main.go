// Promrules checks alert rules, runs tests of them in the format of `promtool test rules`, answers queries, and checks
// dashboards.
//
//	promrules check FILE...
//	promrules test FILE...
//	promrules query SERIES QUERY...   one line of JSON for each query, 70 minutes after the series of `load` begin: now
//	promrules model FILE...           by the types of Grafana's own SDK, with no field that these do not have
//	promrules blocks SERIES FOLDER    makes a block of series in the format OpenMetrics, as `promtool tsdb create-blocks-from` does
//
// Tests are run and blocks are made by promtool's own code: its unittest.go and backfill.go, of the release that go.mod
// pins, are compiled into this program (components.bash copies them). The rest of promtool, with all clouds that Prometheus knows, takes minutes to
// build.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb"
)

// What promtool's files expect of the program that they are a part of.
const (
	successExitCode = 0
	failureExitCode = 1
)

func parseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, text)
}

// check reads a file of rules as Prometheus does, and as `promtool check rules` refuses two rules that differ in
// nothing but their expression.
func check(file string, p parser.Parser) error {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, p, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	seen := make(map[string]bool)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			key := rule.Alert + rule.Record + rules.FromMaps(group.Labels, rule.Labels).String()
			if seen[key] {
				return fmt.Errorf("%s: there is more than one rule %s", file, key)
			}
			seen[key] = true
		}
	}
	fmt.Printf("%s: %d rules\n", file, len(seen))
	return nil
}

func printBlocks([]tsdb.BlockReader, bool, bool) {}

// aBlock is how much time a block may span: a month, so that the series are read once.
const aBlock = 31 * 24 * time.Hour

// makeBlocks writes the blocks of a file of series.
func makeBlocks(file, folder string) error {
	series, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return backfill(5000, series, folder, false, true, aBlock, nil)
}

// ask has Prometheus' engine answer queries over the series of a file.
func ask(file string, queries []string, options promqltest.LazyLoaderOpts) error {
	series, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	now := time.Now()
	options.StartTime = now.Add(-70 * time.Minute)
	loader, err := promqltest.NewLazyLoader(string(series), options)
	if err != nil {
		return err
	}
	defer loader.Close()
	loader.WithSamplesTill(now, func(failed error) { err = failed })
	if err != nil {
		return err
	}
	for _, text := range queries {
		found, err := query(loader.Context(), text, now, loader.QueryEngine(), loader.Queryable())
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		line, err := json.Marshal(found)
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return nil
}

// fits reads a dashboard as Grafana's SDK does.
func fits(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var read dashboard.Dashboard
	// It is an error without a text where nothing is wrong.
	if err := read.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := read.Validate(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	fmt.Printf("%s: %d panels\n", file, len(read.Panels))
	return nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "promrules check|test|query|model|blocks FILE...")
		os.Exit(2)
	}
	p := parser.NewParser(parser.Options{})
	options := promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true}
	files := os.Args[2:]
	var errs []error
	switch os.Args[1] {
	case "check":
		for _, file := range files {
			errs = append(errs, check(file, p))
		}
	case "test":
		os.Exit(RulesUnitTest(options, p, nil, false, false, false, files...))
	case "query":
		options.Parser = p
		errs = append(errs, ask(files[0], files[1:], options))
	case "blocks":
		if len(files) != 2 {
			fmt.Fprintln(os.Stderr, "promrules blocks SERIES FOLDER")
			os.Exit(2)
		}
		errs = append(errs, makeBlocks(files[0], files[1]))
	case "model":
		for _, file := range files {
			errs = append(errs, fits(file))
		}
	default:
		errs = append(errs, fmt.Errorf("unknown command %q", os.Args[1]))
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failureExitCode)
	}
}
