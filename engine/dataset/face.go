package dataset

import (
	"dyad/engine/dataset/drafts"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// Types of the sub-packages that other packages use.
type (
	Answer        = schema.Answer
	Column        = schema.Column
	Drafted       = drafts.Drafted
	DraftedColumn = drafts.DraftedColumn
	DraftOptions  = drafts.Options
	DateFormat    = schema.DateFormat
	Encoder       = schema.Encoder
	Input         = schema.Input
	Interaction   = schema.Interaction
	LookAlikes    = schema.LookAlikes
	Missing       = schema.Missing
	Row           = schema.Row
	Schema        = schema.Schema
	ParseError    = source.ParseError
)

// Constants of the packages schema and source that other packages use.
const (
	AllowLookAlikes      = schema.AllowLookAlikes
	BasisAuto            = schema.BasisAuto
	BasisNone            = schema.BasisNone
	CodeRefused          = schema.CodeRefused
	CodeZero             = schema.CodeZero
	DefaultRowsPerPerson = schema.DefaultRowsPerPerson
	DraftedEnding        = schema.DraftedEnding
	FormatCSV            = schema.FormatCSV
	FormatParquet        = schema.FormatParquet
	IDsPublic            = schema.IDsPublic
	KindCategorical      = schema.KindCategorical
	MissingMiddle        = schema.MissingMiddle
	RoleFeature          = schema.RoleFeature
	RoleGroup            = schema.RoleGroup
	RoleIgnore           = schema.RoleIgnore
	RoleLabel            = schema.RoleLabel
	RolePerson           = schema.RolePerson
	RuleCategory         = schema.RuleCategory
	StoreFloat32         = schema.StoreFloat32
	StoreFloat64         = schema.StoreFloat64
	UnknownOther         = schema.UnknownOther
	EncodingWindows1252  = source.EncodingWindows1252
)

// Functions of the packages schema and drafts that other packages use.
var (
	CheckIDs             = schema.CheckIDs
	IDKey                = schema.IDKey
	IsDataID             = schema.IsDataID
	LoadSchema           = schema.LoadSchema
	LoadUnlabelledSchema = schema.LoadUnlabelledSchema
	LookDrafted          = schema.LookDrafted
	NewEncoder           = schema.NewEncoder
	ParseAnswers         = schema.ParseAnswers
	ParseSchema          = schema.ParseSchema
	MayNamePersons       = drafts.MayNamePersons
)
