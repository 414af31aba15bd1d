// Package images reads a file as one image of a public size. It supports PNG files, and PGM and PPM files with
// one byte for each number.
package images

import (
	"bufio"
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"

	"dyad/engine/dataset/source"
)

// Shape returns the shape of square images with the given number of features. Grey images have 1 channel. Colour images
// have 3 channels: red, green and blue. No number of features fits both kinds of images.
func Shape(features int) (channels, side int, ok bool) {
	for _, channels := range []int{1, 3} {
		if side := int(math.Round(math.Sqrt(float64(features / channels)))); side > 0 && channels*side*side == features {
			return channels, side, true
		}
	}
	return 0, 0, false
}

// The rules of images. Their texts never contain the size of an image.
const (
	ruleKind = "this file is not an image in a supported format (PNG, PGM P5 or PPM P6, with numbers up to 255); " +
		"convert it"
	ruleBroken = "the image is damaged or truncated; write it again"
	ruleSize   = "the image must be %d x %d, as in the schema; scale the image, or correct the key features"
)

// The length of a file is at most maxPerNumber bytes for each number plus maxText bytes. maxPerNumber covers
// PNG data that do not compress; maxText covers the texts in a PNG file.
const maxPerNumber, maxText = 16, 1 << 20

// Read sets row to the numbers of the image in r, from 0 to 255. They are ordered by channel, then from the top line to
// the bottom line. A colour image is converted to grey if the schema has grey images. A *source.ParseError contains the
// name of the file.
func Read(name string, r io.Reader, row []float64) error {
	channels, side, ok := Shape(len(row))
	refuse := func(rule string) error { return &source.ParseError{File: name, Rule: rule} }
	if !ok {
		return refuse(fmt.Sprintf("%d features do not form a square image; a grey image has k*k features, a colour "+
			"image 3*k*k", len(row)))
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(maxPerNumber*len(row)+maxText)))
	if err != nil {
		return refuse(ruleBroken)
	}
	set := func(at int, c color.Color) {
		if channels == 1 {
			row[at] = float64(color.Gray16Model.Convert(c).(color.Gray16).Y) / 257
			return
		}
		red, green, blue, _ := c.RGBA()
		for k, v := range []uint32{red, green, blue} {
			row[k*side*side+at] = float64(v) / 257
		}
	}
	if bytes.HasPrefix(text, []byte("P5")) || bytes.HasPrefix(text, []byte("P6")) {
		wide, width, height, most, rest, ok := netpbm(text)
		switch {
		case !ok || most != 255:
			return refuse(ruleKind)
		case width != side || height != side:
			return refuse(fmt.Sprintf(ruleSize, side, side))
		case len(rest) < wide*side*side:
			return refuse(ruleBroken)
		}
		for at := range side * side {
			if p := rest[at*wide:][:wide]; wide == 1 {
				set(at, color.Gray{Y: p[0]})
			} else {
				set(at, color.RGBA{R: p[0], G: p[1], B: p[2], A: 255})
			}
		}
		return nil
	}
	size, err := png.DecodeConfig(bytes.NewReader(text)) // check the size before the pixels are decoded
	switch {
	case err != nil:
		return refuse(ruleKind)
	case size.Width != side || size.Height != side:
		return refuse(fmt.Sprintf(ruleSize, side, side))
	}
	m, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return refuse(ruleBroken)
	}
	for at := range side * side {
		set(at, m.At(m.Bounds().Min.X+at%side, m.Bounds().Min.Y+at/side))
	}
	return nil
}

// netpbm parses the header of a PGM or PPM file. wide is the number of values of a pixel.
func netpbm(text []byte) (wide, width, height, most int, rest []byte, ok bool) {
	r := bufio.NewReader(bytes.NewReader(text[2:]))
	number := func() (n int, ok bool) {
		for digits := 0; ; {
			c, err := r.ReadByte()
			switch {
			case err != nil || n > 1<<20:
				return 0, false
			case c == '#':
				if _, err := r.ReadBytes('\n'); err != nil {
					return 0, false
				}
			case c >= '0' && c <= '9':
				n, digits = 10*n+int(c-'0'), digits+1
			case bytes.IndexByte([]byte(" \t\r\n"), c) < 0:
				return 0, false
			case digits > 0: // one blank ends the header
				return n, true
			}
		}
	}
	for _, to := range []*int{&width, &height, &most} {
		if *to, ok = number(); !ok {
			return 0, 0, 0, 0, nil, false
		}
	}
	rest, err := io.ReadAll(r)
	return map[byte]int{'5': 1, '6': 3}[text[1]], width, height, most, rest, err == nil
}
