"""Writes the workbooks of this folder and truth.json, by openpyxl 3.1.5 and XlsxWriter 3.2.5 (the writers behind pandas).

    pip install openpyxl==3.1.5 XlsxWriter==3.2.5 && python make.py

The values are drawn, of nobody. truth.json has what each cell is: TestWorkbooksOfRealWriters reads the files and compares.
"""

import datetime
import json
import random

import openpyxl
import xlsxwriter

ROWS = 48
DAY = datetime.date(1970, 1, 1)


def table(r, texts):
    """Columns as (name, kind, values, cells, number format, decimal). With texts, numbers are the texts of a German spreadsheet."""
    gaps = lambda values: [None if r.random() < 0.08 else v for v in values]
    number = gaps([round(r.uniform(0.4, 9), 2) for _ in range(ROWS)])
    large = gaps([round(r.expovariate(1 / 30000), 2) for _ in range(ROWS)])
    whole = gaps([r.randrange(1200, 19000) for _ in range(ROWS)])
    share = [round(r.uniform(0.05, 0.95), 3) for _ in range(ROWS)]
    days = [r.randrange(18000, 19500) for _ in range(ROWS)]
    ward = [r.choice(["Innere", "Chirurgie", "Neuro; West", 'Haus "3"', "Süd"]) for _ in range(ROWS)]
    outcome = [r.choice(["ja", "nein"]) for _ in range(ROWS - 2)] + ["ja", "nein"]
    dot = lambda v, digits: f"{v:,.{digits}f}".translate(str.maketrans(",.", ".,"))
    missing = lambda values, text: [(None if v is None else text(v)) for v in values]
    columns = [
        ("Kreatinin", "number", number, [f"{v:.2f}".replace(".", ",") if v is not None else "k.A." for v in number] if texts else number, "0.00", ","),
        ("Kosten", "number", large, missing(large, lambda v: dot(v, 2) + " €") if texts else large, '#,##0.00 "€"', ","),
        ("Leukozyten", "number", whole, missing(whole, lambda v: dot(v, 0)) if texts else whole, "#,##0", ","),
        ("Anteil", "number", share, None if texts else share, "0.0%", ","),
        ("Aufnahme", "date", days, [(DAY + datetime.timedelta(d)).strftime("%d.%m.%Y") if texts else DAY + datetime.timedelta(d) for d in days], "dd.mm.yyyy", ""),
        ("Station", "text", ward, ward, "General", ""),
        ("Tod", "label", outcome, outcome, "General", ""),
    ]
    return [c for c in columns if c[3] is not None]


def by_openpyxl(name, columns, title, total, epoch1904=False, other_sheet=False, write_only=False):
    book = openpyxl.Workbook(write_only=write_only)
    if epoch1904:
        book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    sheet = book.create_sheet("Daten") if write_only else book.active
    rows = [[title] + [None] * (len(columns) - 1)] if title else []
    rows.append([c[0] for c in columns])
    rows += [[c[3][i] for c in columns] for i in range(ROWS)]
    if total:
        rows.append(["Summe"] + [None] * (len(columns) - 1))
    for row in rows:
        sheet.append(row)
    if not write_only:
        if title:
            sheet.merge_cells(start_row=1, start_column=1, end_row=1, end_column=len(columns))
        first = 3 if title else 2
        for k, c in enumerate(columns):
            for y in range(first, first + ROWS):
                sheet.cell(y, k + 1).number_format = c[4]
        sheet.freeze_panes = "A2"
        if other_sheet:
            book.create_sheet("leer")
    book.save(name)


def by_xlsxwriter(name, columns, title, constant_memory):
    book = xlsxwriter.Workbook(name, {"constant_memory": constant_memory})  # then texts stand in the cells
    sheet = book.add_worksheet()
    y = 0
    if title:
        sheet.write(0, 0, title)
        y = 1
    bold = book.add_format({"bold": True})
    for k, c in enumerate(columns):
        sheet.write(y, k, c[0], bold)
    formats = [book.add_format({"num_format": c[4]}) for c in columns]
    for i in range(ROWS):
        for k, c in enumerate(columns):
            v = c[3][i]
            if isinstance(v, datetime.date):
                sheet.write_datetime(y + 1 + i, k, datetime.datetime(v.year, v.month, v.day), formats[k])
            elif v is not None:
                sheet.write(y + 1 + i, k, v, formats[k])
    book.close()


truth = []
for seed, (name, texts, write) in enumerate([
    ("openpyxl-numbers.xlsx", False, lambda n, c: by_openpyxl(n, c, "", False)),
    ("openpyxl-texts.xlsx", True, lambda n, c: by_openpyxl(n, c, "", False)),
    ("openpyxl-title-total.xlsx", False, lambda n, c: by_openpyxl(n, c, "Klinikum Nord, Export", True)),
    ("openpyxl-texts-title.xlsx", True, lambda n, c: by_openpyxl(n, c, "Klinikum Nord, Export", False, other_sheet=True)),
    ("openpyxl-1904.xlsx", False, lambda n, c: by_openpyxl(n, c, "", False, epoch1904=True)),
    ("openpyxl-write-only.xlsx", True, lambda n, c: by_openpyxl(n, c, "", False, write_only=True)),
    ("xlsxwriter-numbers.xlsx", False, lambda n, c: by_xlsxwriter(n, c, "", False)),
    ("xlsxwriter-inline-texts.xlsx", True, lambda n, c: by_xlsxwriter(n, c, "Export", True)),
]):
    columns = table(random.Random(seed), texts)
    write(name, columns)
    truth.append({"file": name, "rows": ROWS, "columns": [{"name": n, "kind": kind, "values": values, "decimal": decimal} for n, kind, values, _, _, decimal in columns]})

# A workbook of formulas: openpyxl stores no results, and a program that opens the file computes them.
book = openpyxl.Workbook()
book.active.append(["Gewicht", "Groesse", "BMI", "Tod"])
for i in range(ROWS):
    book.active.append([50 + i, 1.5 + i / 100, f"=A{i + 2}/B{i + 2}^2", ["ja", "nein"][i % 2]])
book.save("openpyxl-formulas.xlsx")
book = xlsxwriter.Workbook("xlsxwriter-formulas.xlsx")  # it stores 0 as the result
sheet = book.add_worksheet()
sheet.write_row(0, 0, ["Gewicht", "Groesse", "BMI", "Tod"])
for i in range(ROWS):
    sheet.write_row(i + 1, 0, [50 + i, 1.5 + i / 100, f"=A{i + 2}/B{i + 2}^2", ["ja", "nein"][i % 2]])
book.close()

with open("truth.json", "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(json.dumps(t, ensure_ascii=False) for t in truth) + "\n]\n")
