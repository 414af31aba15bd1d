package command

// naive are slips of somebody who read neither the messages nor the help: commands as other programs have them, files in the
// place of others, numbers as they are written elsewhere. model.json is there, of public data.
func naive(train, plan string) []mistake {
	const check = "data check patients.yaml"
	row := func(what, typed, cure string, says ...string) mistake {
		return mistake{what: what, typed: typed, cure: cure, says: says}
	}
	return []mistake{
		// Numbers.
		row("thousands in a number of records", "plan -d 3 -n 1,000", "plan -d 3 -n 1000", "thousands: 1000"),
		row("thousands with points", "plan -d 3 -n 1.000.000", "plan -d 3 -n 1000000", "without signs between thousands: 1000000"),
		row("thousands with an apostrophe", "plan -d 3 -n 1'000", "plan -d 3 -n 1000", "thousands: 1000"),
		row("k for thousand", "plan -d 3 -n 20k", "plan -d 3 -n 20000", "written out: 20000"),
		row("an exponent for a whole number", train+"--steps 1e3 --algorithm dpgdsc --l2 0.1", train+"--data-id n1 --steps 1000 --algorithm dpgdsc --l2 0.1", "written out: 1000"),
		row("a fraction for a share", train+"--holdout 1/5", train+"--data-id n2 --holdout 0.2", "written out: 0.2"),
		row("a fraction for delta", plan+"--delta 1/1000", plan+"--delta 0.001", "written out: 0.001"),
		row("a percentage for delta", plan+"--delta 1e-3%", plan+"--delta 1e-05", "percent sign: 1e-05"),
		row("a share above 1", train+"--holdout 20", train+"--data-id n3 --holdout 0.2", "--holdout is 20", "below 1"),
		row("a word for a number", train+"--epsilon high", train+"--data-id n4 --epsilon 1", `--epsilon is "high"`, "want a number"),
		row("no privacy at all", train+"--epsilon 0", train+"--data-id n5 --epsilon 1", "epsilon is 0", "positive"),
		row("no records", "plan -d 3 -n 0", "plan -d 3 -n 100", "--n is 0", "positive"),
		row("a day for a seed", train+"--seed today", train+"--data-id n6", "whole number"),
		row("a cap with a decimal comma", "ledger init c1 --epsilon 2,5 --delta 1e-5", "ledger init c1 --epsilon 2.5 --delta 1e-5", "decimal point: 2.5"),
		row("a cap without delta", "ledger init c2 --epsilon 1", "ledger init c2 --epsilon 1 --delta 1e-5", "--delta"),
		// Files in the place of others.
		row("the data as schema", "train --data patients.csv --schema patients.csv --out m.json", train+"--data-id n7", "must be a schema in YAML, not data", "dyad data schema FILE"),
		row("the data to check", "data check patients.csv", check, "not data", "dyad data schema FILE"),
		row("data and schema changed over", "data inspect patients.yaml --schema patients.csv", "data inspect patients.csv --schema patients.yaml", "patients.csv", "not data"),
		row("the schema as data", "train --data patients.yaml --schema patients.yaml --out m.json", train+"--data-id n8", "patients.yaml: row 1", "none of the column names of the schema"),
		row("files without flags", "train patients.csv patients.yaml", train+"--data-id n9", "--data patients.csv"),
		row("the data behind a model", "predict model.json patients.csv", "predict model.json --data patients.csv --out s1.csv", "--data patients.csv"),
		row("data and model changed over", "predict patients.csv model.json", "predict model.json --data patients.csv --out s2.csv", "the model first", "--data FILE"),
		row("the model by a flag", "predict --model model.json --data patients.csv", "predict model.json --data patients.csv --out s3.csv", "the model stands first: dyad predict MODEL"),
		row("a model by a flag to evaluate", "evaluate --model model.json --data patients.csv --public-data", "evaluate exact model.json --data patients.csv --public-data", "the model stands first: dyad evaluate exact MODEL"),
		row("the schema as model", "evaluate patients.yaml --data patients.csv --public-data", "evaluate exact model.json --data patients.csv --public-data", "patients.yaml is not a model"),
		row("the data to verify", "verify patients.csv", "report model.json --out r0.html", "patients.csv is not a model"),
		row("two models to verify", "verify model.json patients.yaml", "report model.json --out r1.html", "one model at a time"),
		row("a model to audit", "audit model.json", "report model.json --out r2.html", "model.json is a file", "dyad verify"),
		row("a table without a command", "data patients.csv", "data schema patients.csv --label outcome", "dyad data schema patients.csv"),
		row("another case of a name", "data inspect Patients.csv --schema patients.yaml", "data inspect patients.csv --schema patients.yaml", "Patients.csv", "no such file"),
		row("synthetic data as a workbook", "data synth out.xlsx", "data synth out.csv", "out.xlsx would contain a table in CSV", "write CSV"),
		row("a schema as a table", "data synth o2.csv --schema o2.csv.json", "data synth o2.csv --schema o2.yaml", "would contain a schema in YAML"),
		// Flags and words of other programs.
		row("the outcome by a flag", train+"--label outcome", "data schema patients.csv --label outcome", "role: label", "dyad data schema FILE --label COLUMN"),
		row("the outcome by its place", "data schema patients.csv outcome", "data schema patients.csv --label outcome", "--label outcome"),
		row("the outcome behind start", "start patients.csv outcome", "start patients.csv --label outcome --out a5.yaml", "--label outcome"),
		row("the outcome in capitals", "data schema patients.csv --label Outcome", "data schema patients.csv --label outcome", `no column "Outcome"`, "the columns are"),
		row("data for a plan", "plan --data patients.csv --schema patients.yaml", "plan -n 200 --schema patients.yaml", "a plan reads no records", "-n"),
		row("a file to test by a flag", train+"--test patients.csv", train+"--data-id n19 --holdout 0.2", "--holdout F", "dyad evaluate MODEL --data FILE"),
		row("a plan of no size", "plan --schema patients.yaml", "plan -n 200 --schema patients.yaml", "records with -n"),
		row("a short flag", train+"--eps 1", train+"--data-id n10 --epsilon 1", `did you mean "--epsilon"?`),
		row("an optimiser", train+"--algorithm SGD", train+"--data-id n11 --algorithm moments", "choose one of", "moments"),
		row("a classifier's loss", train+"--loss cross-entropy", train+"--data-id n12 --loss logistic", "logistic"),
		row("another task", train+"--task classification", train+"--data-id n13 --task auc", `"auc"`),
		row("another model", train+"--model random-forest", train+"--data-id n14 --model linear", "want linear, mlp"),
		row("a mode of that name", train+"--mode private", train+"--data-id n15 --mode certified", `"certified"`),
		row("a flag without its value", "predict model.json --data patients.csv --out", "predict model.json --data patients.csv --out s4.csv", "--out needs a value"),
		row("a percentage for a score", "predict model.json --data patients.csv --threshold 50% --out s5.csv", "predict model.json --data patients.csv --threshold 0.5 --out s5.csv", "not a percentage"),
		row("a figure by a flag", "evaluate model.json --data patients.csv --public-data --metric accuracy", "evaluate exact model.json --data patients.csv --public-data", "together"),
		row("figures without a budget", "evaluate model.json --data patients.csv", "evaluate exact model.json --data patients.csv --public-data", "--epsilon EPSILON", "--public-data"),
		row("a format by a flag", "export model.json --format ONNX", "export model.json --onnx -o m1.onnx", "--onnx"),
		row("an export by its place", "export model.json m2.onnx", "export model.json --onnx -o m2.onnx", "-o m2.onnx"),
		row("an export of no format", "export model.json", "export model.json --python -o m3.py", "--onnx", "--python"),
		row("a page as PDF", "report model.json --out r.pdf", "report model.json --out r3.html", "print it to PDF in a browser"),
		row("another command for a comparison", "compare model.json model.json", "evaluate compare model.json --with model.json --data patients.csv --public-data", "dyad evaluate compare MODEL --with OTHER"),
		row("another name for training", "fit --data patients.csv", train+"--data-id n16", "dyad train does that"),
		row("a list of ledgers", "ledger list", "ledger init c3 --epsilon 1 --delta 1e-5", "dyad ledger show"),
		row("a ledger that is reset", "ledger reset", "ledger init c4 --epsilon 1 --delta 1e-5", "a release cannot be undone", "--data-id"),
		row("help on a word", "help gaussian", "help words", "dyad help words"),
		row("clusters without a number", "cluster --data patients.csv --schema patients.yaml", "cluster --data patients.csv --schema patients.yaml -k 2 --public-data --out c.json", "-k INT"),
		row("another letter in a formula", "losses check 1/(1+exp(-x))", "losses check 1/(1+exp(-u))", "unknown name x; use u for the variable"),
		row("an argument of a list", "data list german", "data list", "dyad data list does not take the argument german"),
		row("options in a file", "config train.yaml", train+"--data-id n18", "dyad train --config FILE"),
		row("a model where no folder is", "train --data patients.csv --schema patients.yaml --out models/m.json", train+"--data-id n17", "models/m.json", "create it first"),
		row("a value outside of its range", "train --data huge.csv --schema patients.yaml --public-data --out huge.json", "", "nearest end", "dyad data inspect"), // 32 of the old list
	}
}
