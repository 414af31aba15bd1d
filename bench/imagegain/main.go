// Command imagegain compares a small network of a file with the linear score, curves and the built-in network at equal epsilon (docs/networks.md): a
// convolution of small images, or a head of frozen vectors. Every line of the CSV is one model: the methods share splits and noise seeds, so
// differences are paired.
//
//	python bench/imagegain/digits.py DIR/digits
//	python bench/imagegain/frozen.py DIR DIR/frozen
//	go -C bench run ./imagegain -data DIR -sets digits,mnist38 -out results/networks-images.csv
//	go -C bench run ./imagegain -data DIR -sets frozen-mnist38 -out results/networks-frozen.csv
//	go -C bench run ./imagegain -summary results/networks-images.csv
//
// DIR/mnist38 has the files of MNIST 3/8 (dyad data fetch mnist38).
package main

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyad"
	"dyad/algorithms"
	graphs "dyad/autodiff/gorgonia"
	"dyad/bench"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/internal/experiment"
	"dyad/privacy"
)

// set is a data set with its files in the folder of the data, or of the schemas.
type set struct {
	name, file, schema, network string
	n                           int     // records to train
	clip                        float64 // of the Jacobians of the network of the file
	steps                       int
	basis                       bool // its columns have names, so that a basis can be asked for
	vectors                     bool // frozen ones, and no image
}

var sets = []set{
	{name: "digits", file: "digits/digits.csv", schema: "digits/digits.yaml", network: "imagegain/digits.yaml", n: 1257,
		clip: 2, steps: 60, basis: true},
	{name: "mnist38", file: "mnist38/mnist38-train-images-idx3-ubyte.gz", schema: "schemas/mnist38.yaml",
		network: "imagegain/mnist38.yaml", n: 2000, clip: 2, steps: 60},
	{name: "mnist38", file: "mnist38/mnist38-train-images-idx3-ubyte.gz", schema: "schemas/mnist38.yaml",
		network: "imagegain/mnist38.yaml", n: 8000, clip: 2, steps: 60},
	{name: "frozen-mnist38", file: "frozen/mnist38.csv", schema: "frozen/mnist38.yaml", network: "imagegain/head.yaml",
		n: 2000, clip: 1, steps: 100, basis: true, vectors: true},
	{name: "frozen-mnist38", file: "frozen/mnist38.csv", schema: "frozen/mnist38.yaml", network: "imagegain/head.yaml",
		n: 8000, clip: 1, steps: 100, basis: true, vectors: true},
}

// The methods. The first two are of files, for images and for vectors, and compared with the others.
var methods = []string{"convolution", "head", "linear", "curves", "mlp"}

func main() {
	bench.Exit("imagegain", run(context.Background()))
}

func run(ctx context.Context) error {
	data := flag.String("data", "", "folder of the data sets")
	out := flag.String("out", "", "CSV file to write")
	only := flag.String("sets", "", "names of the data sets, comma separated; default: all")
	records := flag.Int("n", 0, "only the sets of this many records; default: all")
	splits := flag.Uint64("splits", 5, "splits of each set")
	first := flag.Uint64("first", 1, "seed of the first split; the settings of this program were chosen on 101")
	summary := flag.String("summary", "", "print means and paired differences of this CSV file and end")
	flag.Parse()
	if *summary != "" {
		return summarise(*summary)
	}
	file, err := os.Create(*out)
	if err != nil {
		return err
	}
	defer file.Close()
	w := csv.NewWriter(file)
	if err := w.Write(strings.Split("set,n,epsilon,delta,split,method,model,algorithm,auc", ",")); err != nil {
		return err
	}
	for _, s := range sets {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), s.name) || *records > 0 && *records != s.n {
			continue
		}
		for split := *first; split < *first+*splits; split++ {
			for _, epsilon := range []float64{2, 8} {
				for _, m := range methods {
					if m == "curves" && !s.basis || m == "convolution" && s.vectors || m == "head" && !s.vectors {
						continue
					}
					row, err := s.train(ctx, *data, m, epsilon, split)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", s.name, m, err)
					}
					if err := w.Write(row); err != nil {
						return err
					}
					w.Flush()
				}
			}
		}
	}
	return w.Error()
}

// train trains and judges one model.
func (s set) train(ctx context.Context, data, method string, epsilon float64, seed uint64) ([]string, error) {
	schema := filepath.Join(data, s.schema)
	if strings.HasPrefix(s.schema, "schemas/") {
		schema = s.schema
	}
	read, err := dataset.LoadSchema(schema)
	if err != nil {
		return nil, err
	}
	o := dyad.Options{Task: dyad.AUC, Epsilon: epsilon}
	steps := algorithms.GradientPerturbation{Steps: s.steps, Optimizer: algorithms.NetworkOptimizer()}
	switch method {
	case "curves":
		read = read.WithBasis("curve:3")
	case "mlp":
		o.Network, o.Algorithm = &dyad.Network{Hidden: []int{16}}, steps
	case "convolution", "head":
		o.Network, o.Algorithm = &dyad.Network{Clip: s.clip, Build: func(n dyad.Network) (embedding.Network, error) {
			return graphs.NewLayers(*n.Layers, n.Features, n.Dim)
		}}, steps
		if err := o.Network.Read(s.network); err != nil {
			return nil, err
		}
	}
	d, err := dataset.Load(filepath.Join(data, s.file), read, dataset.Options{})
	if err != nil {
		return nil, err
	}
	all := dyad.NewData(d)
	train, test, err := all.Split(1-float64(s.n)/float64(d.Records.Len()), seed)
	if err != nil {
		return nil, err
	}
	p, err := dyad.Plan(train.Shape(), o)
	if err != nil {
		return nil, err
	}
	model, err := p.Run(ctx, train, dyad.Run{Public: true, Source: privacy.NewSeededSource(seed)})
	if err != nil {
		return nil, err
	}
	e, err := model.Evaluate(ctx, test, dyad.EvaluateOptions{})
	if err != nil {
		return nil, err
	}
	return []string{s.name, strconv.Itoa(train.Shape().Records), fmt.Sprint(epsilon),
		fmt.Sprint(o.Budget(train.Shape().Records).Delta), fmt.Sprint(seed), method,
		fmt.Sprintf("%s, %d parameters", p.Spec.Kernel.Problem().Loss.Name(), p.Coordinates()), p.Algorithm,
		fmt.Sprintf("%.6f", *e.AUC)}, nil
}

// summarise prints the mean AUC of each method with its standard error, and how much more the network of the file has, paired by split.
func summarise(path string) error {
	rows, err := bench.ReadRows(path)
	if err != nil {
		return err
	}
	auc, cells := map[string][]float64{}, []string{}
	for _, r := range rows {
		v, err := strconv.ParseFloat(r[8], 64)
		if err != nil {
			return err
		}
		cell := strings.Join([]string{r[0], r[1], r[2], r[5]}, ",")
		if auc[cell] == nil {
			cells = append(cells, cell)
		}
		auc[cell] = append(auc[cell], v)
	}
	fmt.Println("set,n,epsilon,method,splits,auc,standard_error,file_less_this,standard_error_of_it")
	for _, cell := range cells {
		mean, se := experiment.MeanAndError(auc[cell])
		of := cell[:strings.LastIndex(cell, ",")]
		file := auc[of+",convolution"]
		if file == nil {
			file = auc[of+",head"]
		}
		more := make([]float64, len(file))
		for k := range file {
			more[k] = file[k] - auc[cell][k]
		}
		gain, its := experiment.MeanAndError(more)
		fmt.Printf("%s,%d,%.4f,%.4f,%.4f,%.4f\n", cell, len(auc[cell]), mean, se, gain, its)
	}
	return nil
}
