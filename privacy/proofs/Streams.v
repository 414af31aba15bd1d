(* One update of pairwise online learning: docs/theory.md 8.3, buffers that do not depend on classes. *)
From Coq Require Import Reals Lra List Arith.
From Dyad Require Import Space.
Import ListNotations.
Open Scope R_scope.

Section Streams.
Context {Z : Type} {S : Space} (N : Norm S).
Variables (ok : Z -> Prop) (g : Z -> Z -> S) (Dg : R).
Hypothesis HDg : 0 <= Dg.
Hypothesis left : forall x x' o, ok x -> ok x' -> ok o -> N (sub (g x o) (g x' o)) <= Dg.
Hypothesis right : forall x x' o, ok x -> ok x' -> ok o -> N (sub (g o x) (g o x')) <= Dg.

(* Two streams that differ in record k. *)
Variables (k : nat) (z z' : nat -> Z).
Hypotheses (Hz : forall i, ok (z i)) (Hz' : forall i, ok (z' i)) (same : forall i, i <> k -> z i = z' i).

Definition partners (y : nat -> Z) (t : nat) (l : list nat) : S := vsum (fun i => g (y t) (y i)) l.

Lemma partners_same t l : t <> k -> ~ In k l -> partners z t l = partners z' t l.
Proof.
  intros T; unfold partners; induction l as [| i l IH]; intros I; cbn [vsum]; [reflexivity |].
  rewrite IH by (intros J; apply I; right; exact J).
  rewrite (same t T), (same i) by (intros E; apply I; left; exact E); reflexivity.
Qed.

Lemma partners_later t l : t <> k -> NoDup l -> N (sub (partners z t l) (partners z' t l)) <= Dg.
Proof.
  intros T; induction l as [| i l IH]; intros D.
  - unfold partners; cbn [vsum]; rewrite norm_sub_self; exact HDg.
  - inversion D as [| i' l' NI ND]; subst.
    destruct (Nat.eq_dec i k) as [E | E].
    + assert (R0 : partners z t l = partners z' t l) by (apply partners_same; [exact T | rewrite <- E; exact NI]).
      unfold partners in *; cbn [vsum]; rewrite R0.
      rewrite (norm_eqv N _ (sub (g (z t) (z i)) (g (z' t) (z' i)))) by vec.
      rewrite <- (same t T); apply right; auto.
    + unfold partners in *; cbn [vsum]; rewrite <- (same i E), <- (same t T) at 1.
      rewrite (norm_eqv N _ (sub (vsum (fun i => g (z t) (z i)) l) (vsum (fun i => g (z' t) (z' i)) l))); [apply IH; exact ND |].
      rewrite (same t T); vec.
Qed.

Lemma partners_own l : ~ In k l -> N (sub (partners z k l) (partners z' k l)) <= INR (length l) * Dg.
Proof.
  unfold partners; induction l as [| i l IH]; intros I; cbn [vsum length].
  - rewrite norm_sub_self; simpl; lra.
  - rewrite S_INR, (norm_eqv N _ (add (sub (g (z k) (z i)) (g (z' k) (z' i))) (sub (vsum (fun i => g (z k) (z i)) l) (vsum (fun i => g (z' k) (z' i)) l)))) by vec.
    eapply Rle_trans; [apply norm_add |].
    rewrite <- (same i) by (intros E; apply I; left; exact E).
    pose proof (left (z k) (z' k) (z i) (Hz k) (Hz' k) (Hz i)); pose proof (IH (fun J => I (or_intror J))); lra.
Qed.

(* The update of a batch: record t has the partners buffer t, earlier records, and a public divisor. *)
Variables (batch : list nat) (buffer : nat -> list nat) (divisor : nat -> R) (weight : R).
Hypothesis Hw : 0 <= weight.
Hypothesis buffers : forall t, In t batch -> NoDup (buffer t) /\ ~ In t (buffer t) /\ 0 < divisor t /\ INR (length (buffer t)) <= divisor t.

Definition update (y : nat -> Z) : S := scale weight (vsum (fun t => scale (/ divisor t) (partners y t (buffer t))) batch).

(* [k in batch] + sum over later t whose buffer has k of 1/D_t. *)
Definition cost (t : nat) : R := if Nat.eq_dec t k then 1 else if in_dec Nat.eq_dec k (buffer t) then / divisor t else 0.

Theorem stream_update : N (sub (update z) (update z')) <= Dg * (weight * rsum cost batch).
Proof.
  unfold update.
  rewrite (norm_eqv N _ (scale weight (sub (vsum (fun t => scale (/ divisor t) (partners z t (buffer t))) batch)
    (vsum (fun t => scale (/ divisor t) (partners z' t (buffer t))) batch)))) by vec.
  rewrite norm_scale, Rabs_pos_eq by exact Hw.
  replace (Dg * (weight * rsum cost batch)) with (weight * (Dg * rsum cost batch)) by ring.
  apply Rmult_le_compat_l; [exact Hw |].
  induction batch as [| t l IH]; cbn [vsum rsum].
  - rewrite norm_sub_self; lra.
  - rewrite (norm_eqv N _ (add (scale (/ divisor t) (sub (partners z t (buffer t)) (partners z' t (buffer t))))
      (sub (vsum (fun t => scale (/ divisor t) (partners z t (buffer t))) l) (vsum (fun t => scale (/ divisor t) (partners z' t (buffer t))) l)))) by vec.
    eapply Rle_trans; [apply norm_add |].
    assert (IH' := IH (fun s I => buffers s (or_intror I))).
    destruct (buffers t (or_introl eq_refl)) as [ND [NI [P L]]].
    pose proof (Rinv_0_lt_compat _ P) as IP.
    assert (M : N (scale (/ divisor t) (sub (partners z t (buffer t)) (partners z' t (buffer t)))) <= Dg * cost t).
    { rewrite norm_scale, Rabs_pos_eq by lra; unfold cost.
      destruct (Nat.eq_dec t k) as [E | E].
      - rewrite E in *; pose proof (partners_own (buffer k) NI) as H.
        apply Rle_trans with (/ divisor k * (divisor k * Dg)).
        + apply Rmult_le_compat_l; [lra |]; eapply Rle_trans; [exact H | apply Rmult_le_compat_r; assumption].
        + apply Req_le; field; lra.
      - destruct (in_dec Nat.eq_dec k (buffer t)) as [I | I].
        + rewrite Rmult_comm; apply Rmult_le_compat_r; [lra | apply partners_later; assumption].
        + rewrite (partners_same t (buffer t) E I), norm_sub_self; lra. }
    lra.
Qed.
End Streams.
