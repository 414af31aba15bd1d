package command

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"dyad/engine/cuda"
	"dyad/internal/machine/cases"
)

type benchCmd struct {
	Quick   bool     `help:"Measure smaller sizes, with 3 runs, in less than a minute."`
	Runs    int      `positive:"" placeholder:"N" help:"Timed runs of each line. Default: 11, or 3 with --quick."`
	Workers int      `positive:"" default:"1" placeholder:"N" help:"Goroutines; the default shows one core."`
	Variant string   `default:"all" enum:"all,best,generic,avx2,avx512" help:"Kernels to measure: ${enum}."`
	Devices []string `name:"device" aliases:"devices" default:"cpu" placeholder:"NAME" help:"Devices that compute gradients, comma separated: cpu, cuda:N. A GPU shows no share of peak."`
	Peers   []string `type:"existingfile" needs:"workers=1" why:"it compares one core with one core" placeholder:"FILE" help:"Compare with other programs. FILE is output of a script in bench/peers on this machine; separate files by commas."`
	Only    string   `placeholder:"METHOD" help:"Measure only methods whose name contains this text, such as k-NN or near-linear."`
	Records int      `positive:"" within:"[2,]" hidden:"" help:"Records of every line."`
}

type benchResult struct {
	CPU   string       `json:"cpu"`
	Go    string       `json:"go"`
	Cores int          `json:"cores"`
	Lines []cases.Line `json:"lines"`
}

// Run carries out the measurements and prints them.
func (c *benchCmd) Run(a *app) error {
	o := cases.Options{Quick: c.Quick, Records: c.Records, Runs: c.Runs, Workers: c.Workers, Only: c.Only}
	if err := c.readPeers(&o.Peers); err != nil {
		return err
	}
	done, err := c.open(&o)
	if err != nil {
		return err
	}
	defer done()
	if err := o.Choose(c.Variant); err != nil {
		return asInput(err)
	}
	r := benchResult{CPU: cases.CPUModel(), Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0)}
	live := !a.json && !a.quiet
	if live {
		fmt.Fprintf(a.stdout, "%s, %d cores, %s, %s/%s\n", r.CPU, r.Cores, r.Go, runtime.GOOS, runtime.GOARCH)
		fmt.Fprintf(a.stdout, "%-21s %-8s %9s %4s %10s %13s  %s\n", "method", "variant", "n", "d", "time", "rate",
			"share of peak"+pick(len(c.Peers) > 0, "; ratio to peers", ""))
	}
	err = cases.Run(a.ctx, o, func(l cases.Line) error {
		r.Lines = append(r.Lines, l)
		if live {
			_, err := fmt.Fprintln(a.stdout, benchLine(l))
			return err
		}
		return nil
	})
	if err != nil || live {
		return err
	}
	return a.emit(r, "")
}

// readPeers reads the files of --peers.
func (c *benchCmd) readPeers(p *cases.Peers) error {
	for _, name := range c.Peers {
		f, err := os.Open(name)
		if err != nil {
			return asInput(err)
		}
		err = p.Read(f)
		f.Close()
		if err != nil {
			return badInput("--peers %s: %v", name, err)
		}
		if p.CPU != cases.CPUModel() {
			return badInput("--peers %s: the file was made on another CPU (%q, here %q); run the scripts of "+
				"bench/peers here", name, p.CPU,
				cases.CPUModel())
		}
	}
	return nil
}

// open opens the devices. The caller must call the returned function.
func (c *benchCmd) open(o *cases.Options) (done func(), err error) {
	done = func() {}
	for _, name := range c.Devices {
		if name == "auto" || slices.ContainsFunc(o.Devices, func(d cases.Device) bool { return d.Name == name }) {
			done()
			return nil, badInput("--device %s: list cpu and cuda:N only, each once", strings.Join(c.Devices, ","))
		}
		f := deviceFlag{Device: name}
		close, err := f.openDevice(c.Workers, cuda.AutoPrecision)
		if err != nil {
			done()
			return nil, err
		}
		others := done
		done = func() { close(); others() }
		d := cases.Device{Name: name}
		if name != "cpu" {
			d.Backend = f.device.Backend()
		}
		o.Devices = append(o.Devices, d)
	}
	return done, nil
}

// benchLine returns one line of the table.
func benchLine(l cases.Line) string {
	d, share := "", ""
	if l.D > 0 {
		d = fmt.Sprint(l.D)
	}
	if l.Of != "" {
		unit := "Gflop/s"
		if l.Of == "copy" {
			unit = "GB/s"
		}
		share = fmt.Sprintf("%.0f %% (best %.0f) of %s, %.1f %s", 100*l.Share, 100*l.BestShare, l.Of, l.Peak, unit)
	}
	if l.Radius > 1 {
		share += fmt.Sprintf(", radius %g", l.Radius)
	}
	if l.Peer != "" {
		share += fmt.Sprintf("; %.3gx %s", l.PeerRatio, l.Peer)
	}
	return strings.TrimRight(fmt.Sprintf("%-21s %-8s %9d %4s %8.4g s %7.3g %s/s  %s", l.Method,
		cmp.Or(l.Variant, l.Device), l.N, d, l.Seconds, l.Rate, l.Unit, share), " ")
}
