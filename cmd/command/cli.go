package command

// cli is the command line. Flags of all commands come first.
type cli struct {
	JSON  bool `name:"json" help:"Write the result as JSON on standard output."`
	Quiet bool `short:"q" help:"Write nothing but errors (and the result with --json)."`

	Config string `name:"config" placeholder:"FILE" help:"YAML file of flags, such as \"epsilon: 1\"; the command line overrides it. It is written into reports and models."`

	Verbose bool `name:"verbose" short:"v" help:"Write the whole report, with the proof."`

	Set       []string `sep:"none" placeholder:"KEY=VALUE" help:"A key of the recipe, an option that most runs leave as it is; \"dyad help keys\" explains all. May repeat."`
	LogFormat string   `name:"log-format" enum:"text,json" default:"text" placeholder:"text|json" help:"Format of standard error: text, or JSON lines with the start time, level and message."`

	Start startCmd `cmd:"" group:"Prepare data:" help:"Begin with your own file: answer questions to get a schema and a training recipe."`
	Data  dataCmd  `cmd:"" group:"Prepare data:" help:"Work with data files."`

	Plan   planCmd   `cmd:"" group:"Decide:" help:"Print the whole privacy report of a training run without reading any data."`
	Ledger ledgerCmd `cmd:"" group:"Decide:" help:"Show, check or cap what has been spent on each data set."`

	Train  trainCmd  `cmd:"" group:"Train:" help:"Train a model. Without --data: on an embedded synthetic clinical data set."`
	Search searchCmd `cmd:"" group:"Train:" help:"Choose privately among settings or released models. One charge pays for training, scores and choice."`

	Evaluate evaluateCmd `cmd:"" group:"Judge and use:" help:"Evaluate a model on a data file."`
	Predict  predictCmd  `cmd:"" group:"Judge and use:" help:"Score records with a model."`
	Report   reportCmd   `cmd:"" group:"Judge and use:" help:"Write the page of a model: guarantee, charges, weights and noise, assumptions."`
	Export   exportCmd   `cmd:"" group:"Judge and use:" help:"Write a model for other programs: ONNX, NumPy, safetensors, SQL, Go, Python."`
	Verify   verifyCmd   `cmd:"" group:"Judge and use:" help:"Recompute the guarantee of a model from its file, independently of the program that planned it."`

	Doctor doctorCmd `cmd:"" group:"This machine:" help:"Check this machine: CPU, GPU, ledger, randomness."`

	Lab   labCmd   `cmd:"" group:"More:" help:"Examine algorithms and losses: attacks, curves, speed, the tables of the papers."`
	Local localCmd `cmd:"" group:"More:" help:"Learn from users who do not trust the server: local differential privacy."`

	// The commands below are listed at the end of "dyad --help".
	Baseline   baselineCmd   `cmd:"" help:"Train without privacy, to compare with."`
	Online     onlineCmd     `cmd:"" help:"Train on a stream of records and release a model after every batch."`
	Pairs      pairsCmd      `cmd:"" help:"Train on pairs, labelled by similarity or by preference."`
	Cluster    clusterCmd    `cmd:"" help:"Find cluster centres of records privately, optionally with a metric from pairs."`
	Threshold  thresholdCmd  `cmd:"" help:"Choose a decision threshold, at a cost; predict then prints classes."`
	Transform  transformCmd  `cmd:"" help:"Map records by a learned metric."`
	Account    accountCmd    `cmd:"" help:"Convert between noise and epsilon."`
	Devices    devicesCmd    `cmd:"" help:"List the values of --device."`
	Completion completionCmd `cmd:"" help:"Print a completion script for bash, zsh or fish."`
	Man        manCmd        `cmd:"" help:"Print a manual page, or write all of them."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Docs       docsCmd       `cmd:"" hidden:"" help:"Write the help of all commands as Markdown."`
}

type auditCmd struct {
	Records auditRecordsCmd `cmd:"" default:"withargs" help:"Attack an algorithm on records; \"dyad lab audit ALGORITHM\" is short for it."`
	Pairs   auditPairsCmd   `cmd:"" help:"Attack training on labelled pairs, tuples or all pairs."`
}

type dataCmd struct {
	Schema  dataSchemaCmd  `cmd:"" help:"Draft a schema for a data file."`
	Check   dataCheckCmd   `cmd:"" help:"Check a schema without reading any data."`
	Inspect dataInspectCmd `cmd:"" help:"Describe a data file, read with its schema. The figures are private."`
	Convert dataConvertCmd `cmd:"" help:"Write the rows of a data file in another format."`
	Pack    dataPackCmd    `cmd:"" help:"Encode a data file once, so that later runs start faster."`
	Synth   dataSynthCmd   `cmd:"" help:"Write synthetic clinical records or hospital visits, and their schema."`
	List    dataListCmd    `cmd:"" help:"List the public data sets that can be fetched."`
	Fetch   dataFetchCmd   `cmd:"" help:"Fetch a public data set into the cache."`
	Verify  dataVerifyCmd  `cmd:"" help:"Check files against the catalogue of public data sets."`
}

// evaluateCmd has a command for each kind of performance figures.
type evaluateCmd struct {
	Private evaluatePrivateCmd `cmd:"" help:"Release private figures; \"dyad evaluate MODEL --epsilon EPSILON\" is short for it."`
	Exact   evaluateExactCmd   `cmd:"" help:"Print exact figures. They have no guarantee for private records."`
	Compare evaluateCompareCmd `cmd:"" help:"Evaluate the difference of the AUCs of two models on the same records."`
}

type ledgerCmd struct {
	Init   ledgerInitCmd   `cmd:"" help:"Set the total budget of a data set."`
	Show   ledgerShowCmd   `cmd:"" help:"Show what has been spent."`
	Verify ledgerVerifyCmd `cmd:"" help:"Check that no ledger line was changed or lost."`

	Key  ledgerKeyCmd  `cmd:"" help:"Make or show the key that signs releases."`
	Sign ledgerSignCmd `cmd:"" help:"Sign a file that a run released."`

	Compact ledgerCompactCmd `cmd:"" help:"Move finished runs to an archive. The ledger keeps the totals."`
}

type localCmd struct {
	Plan     localPlanCmd     `cmd:"" help:"Print the protocol and its guarantee without reading any data."`
	Simulate localSimulateCmd `cmd:"" help:"Simulate users and server on a data file or synthetic records."`
	Server   localServerCmd   `cmd:"" help:"Serve a protocol over HTTP: publish the model, take one message per user and epoch."`
	Client   localClientCmd   `cmd:"" help:"Answer a server with one privatised message. The record stays here."`
	Model    localModelCmd    `cmd:"" help:"Save the model that a server publishes, for predict."`
	Token    localTokenCmd    `cmd:"" help:"Make the tokens that prove the users' ids to a server."`
	Audit    localAuditCmd    `cmd:"" help:"Attack the messages of a method to find a lower bound of epsilon."`
}

type lossesCmd struct {
	List  lossesListCmd  `cmd:"" default:"withargs" help:"List the built-in losses (the default)."`
	Check lossesCheckCmd `cmd:"" help:"Print the proved constants of a loss, and which algorithms take it."`
}

type pairsCmd struct {
	Train   pairsTrainCmd   `cmd:"" help:"Train a metric or preference scores on labelled pairs of individuals."`
	Plan    pairsPlanCmd    `cmd:"" help:"Print the privacy report of a training on pairs without reading data."`
	Inspect pairsInspectCmd `cmd:"" help:"Describe pairs and the graph behind them. The figures are private."`
}

// planCmd has one command for the plan of an algorithm and one for the ranking of all algorithms.
type planCmd struct {
	Train   planTrainCmd   `cmd:"" help:"Print the whole privacy report of a training; \"dyad plan -n N\" is short for it."`
	Compare planCompareCmd `cmd:"" help:"Rank the algorithms that apply, by the noise in the model."`
}

// labCmd groups the commands that examine algorithms and losses and do not use a user's data.
type labCmd struct {
	Audit      auditCmd      `cmd:"" help:"Attack an algorithm to find a lower bound of its epsilon."`
	Curve      curveCmd      `cmd:"" help:"Draw the AUC against epsilon: algorithms x epsilons x splits."`
	Bench      benchCmd      `cmd:"" help:"Measure this machine: time, pairs per second, share of its peak."`
	Reproduce  reproduceCmd  `cmd:"" help:"Reproduce tables and figures of the papers."`
	Algorithms algorithmsCmd `cmd:"" help:"List the algorithms, or explain one."`
	Losses     lossesCmd     `cmd:"" help:"List the built-in losses, or prove the constants of your own."`
	Influence  influenceCmd  `cmd:"" help:"Rank records by their influence on a fit without noise, and compute its stability."`
}
