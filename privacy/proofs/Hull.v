(* A person with several rows: docs/theory.md 11.14. Its part of a sum is the mean over its rows, which is in the convex hull of
   the parts of rows; so is every mean with weights that add up to 1. *)
From Coq Require Import Reals Lra List Arith.
From Dyad Require Import Space.
Import ListNotations.
Open Scope R_scope.

Section Hull.
Context {Z : Type} {S : Space} (N : Norm S).
Variables (ok : Z -> Prop) (phi : Z -> S) (D : R).
Hypothesis rows : forall z z', ok z -> ok z' -> N (sub (phi z) (phi z')) <= D.

(* A person: rows with weights. *)
Definition person := list (R * Z).
Definition part (p : person) : S := vsum (fun r => scale (fst r) (phi (snd r))) p.
Definition weights (p : person) := rsum (fun r => fst r) p.
Definition admitted (p : person) := (forall r, In r p -> 0 <= fst r /\ ok (snd r)) /\ weights p = 1.

Lemma one_side (v : S) (c : R) (p : person) :
  (forall r, In r p -> 0 <= fst r /\ N (sub (phi (snd r)) v) <= c) -> N (sub (part p) (scale (weights p) v)) <= weights p * c.
Proof.
  intros H.
  assert (E : eqv (sub (part p) (scale (weights p) v)) (vsum (fun r => scale (fst r) (sub (phi (snd r)) v)) p)).
  { intros w; rewrite dot_sub, dot_scale; unfold part, weights; rewrite !dot_vsum.
    clear H; induction p as [| r p IH]; simpl; [ring |]; rewrite <- IH, !dot_scale, dot_sub; ring. }
  rewrite (norm_eqv N _ _ E); eapply Rle_trans; [apply norm_vsum |].
  unfold weights; rewrite Rmult_comm, <- rsum_scale; apply rsum_le; intros r I; destruct (H r I) as [W L].
  rewrite norm_scale, Rabs_pos_eq by exact W; rewrite (Rmult_comm c); apply Rmult_le_compat_l; assumption.
Qed.

Lemma hull_diameter p q : admitted p -> admitted q -> N (sub (part p) (part q)) <= D.
Proof.
  intros [P WP] [Q WQ].
  pose proof (one_side (part q) D p) as H; rewrite WP in H.
  rewrite (norm_eqv N (sub (part p) (part q)) (sub (part p) (scale 1 (part q)))) by vec.
  rewrite Rmult_1_l in H; apply H; intros r I; destruct (P r I) as [W O]; split; [exact W |].
  rewrite norm_sub_sym.
  pose proof (one_side (phi (snd r)) D q) as G; rewrite WQ in G.
  rewrite (norm_eqv N (sub (part q) (phi (snd r))) (sub (part q) (scale 1 (phi (snd r))))) by vec.
  rewrite Rmult_1_l in G; apply G; intros r' I'; destruct (Q r' I') as [W' O']; split; [exact W' | apply rows; assumption].
Qed.

(* Whatever bounds the move of one row's part of a sum bounds that of a person, in any norm and for any number of rows. *)
Theorem persons : sensitivity N admitted (vsum part) D.
Proof. apply (sum_over_records N); intros; apply hull_diameter; assumption. Qed.

(* The mean over rows is one: weights 1/m. *)
Lemma mean_admitted (l : list Z) : l <> [] -> Forall ok l -> admitted (map (fun z => (/ INR (length l), z)) l).
Proof.
  intros NE O; assert (L : 0 < INR (length l)) by (apply lt_0_INR; destruct l; [congruence | simpl; apply Nat.lt_0_succ]).
  split.
  - intros r I; apply in_map_iff in I; destruct I as [z [<- I]]; simpl; split.
    + left; apply Rinv_0_lt_compat; exact L.
    + rewrite Forall_forall in O; auto.
  - unfold weights.
    assert (G : forall m, rsum (fun r : R * Z => fst r) (map (fun z => (/ INR (length l), z)) m) = INR (length m) * / INR (length l)).
    { induction m as [| z m IH]; [simpl; ring |]; simpl map; simpl rsum; simpl length; rewrite IH, S_INR; ring. }
    rewrite G; field; lra.
Qed.
End Hull.
